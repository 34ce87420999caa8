package main

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// cmdEvents is watch events into the store, from the recorded stream that ../../ours/player.py plays.
func cmdEvents(args []string) {
	fs := flag.NewFlagSet("events", flag.ExitOnError)
	n := fs.Int("n", 1000, "Pods that the player lists")
	events := fs.Int("events", 50000, "events that it plays")
	must(fs.Parse(args))
	ctx := context.Background()
	c := must1(cache.New(restConfig(), cache.Options{Scheme: newScheme()}))
	inf := must1(c.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false)))
	store := inf.(toolscache.SharedIndexInformer).GetStore()
	go func() { must(c.Start(ctx)) }()
	for !inf.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	cpu0, t0 := cpuSeconds(), time.Now()
	last, key := strconv.Itoa(*n+*events), ns+"/"+podName((*events-1)%*n)
	for {
		o, found, err := store.GetByKey(key)
		must(err)
		if !found {
			must(fmt.Errorf("%s is not in the cache", key))
		}
		if o.(*corev1.Pod).ResourceVersion == last {
			break
		}
		time.Sleep(time.Millisecond)
	}
	wall, cpu := time.Since(t0).Seconds(), cpuSeconds()-cpu0
	emit(map[string]any{"cmd": "events", "n": *n, "events": *events, "per_s": float64(*events) / wall, "cpu_us": cpu / float64(*events) * 1e6})
}
