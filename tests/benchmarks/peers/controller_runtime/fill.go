package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// transforms are what a user can set as the cache's transform.
var transforms = map[string]toolscache.TransformFunc{
	"none":  nil,
	"strip": cache.TransformStripManagedFields(),
	"slim":  slim,
}

// cmdFill is an informer from its start to synced.
func cmdFill(args []string) {
	fs := flag.NewFlagSet("fill", flag.ExitOnError)
	kind := fs.String("kind", "pod", "pod|widget")
	want := fs.Int("n", 10000, "objects on the server")
	transform := fs.String("transform", "none", "none|strip|slim")
	tick := fs.Bool("ticker", false, "record 1 ms ticker gaps during the fill")
	touch := fs.Bool("touch", false, "read one spec field and one status field of every object afterwards")
	must(fs.Parse(args))
	ctx := context.Background()
	c := must1(cache.New(restConfig(), cache.Options{Scheme: newScheme(), DefaultTransform: transforms[*transform]}))
	inf := must1(c.GetInformer(ctx, object(*kind), cache.BlockUntilSynced(false))) // does discovery; not started yet
	store := inf.(toolscache.SharedIndexInformer).GetStore()
	m0 := gcNow()
	rss0 := procStatus("VmRSS")
	var tk *tickerStats
	if *tick {
		tk = startTicker()
		time.Sleep(20 * time.Millisecond)
	}
	cpu0, t0 := cpuSeconds(), time.Now()
	go func() { must(c.Start(ctx)) }()
	for !inf.HasSynced() { // WaitForCacheSync polls at 100 ms; poll finer for the figure
		time.Sleep(time.Millisecond)
	}
	if *touch {
		touched := 0
		for _, o := range store.List() { // without copies, the cheapest way there is
			p := o.(*corev1.Pod)
			touched += len(p.Spec.NodeName) * len(p.Status.Phase)
		}
		if touched == 0 {
			must(fmt.Errorf("nothing was touched"))
		}
	}
	wall, cpu := time.Since(t0).Seconds(), cpuSeconds()-cpu0
	out := map[string]any{"cmd": "fill", "kind": *kind, "sync_s": wall, "cpu_s": cpu}
	if tk != nil {
		out["ticker"] = tk.finish()
	}
	rss1 := procStatus("VmRSS")
	time.Sleep(time.Second)
	m1 := gcNow()
	n := len(store.ListKeys())
	if n != *want {
		must(fmt.Errorf("cache holds %d objects, want %d", n, *want))
	}
	rss2 := procStatus("VmRSS")
	per := func(a int64) float64 { return float64(a) / float64(n) }
	out["n"] = n
	out["cpu_us"] = cpu / float64(n) * 1e6
	out["rss_per_obj_after_fill"] = per(rss1 - rss0)
	out["rss_per_obj"] = per(rss2 - rss0)
	out["heap_per_obj"] = per(int64(m1.HeapAlloc) - int64(m0.HeapAlloc))
	out["peak_rss_mb"] = float64(procStatus("VmHWM")) / 1e6
	emit(out)
	runtime.KeepAlive(c)
}

// cmdTicker is the control of the stall: the same ticker in an idle process.
func cmdTicker(args []string) {
	fs := flag.NewFlagSet("ticker", flag.ExitOnError)
	secs := fs.Float64("seconds", 5, "")
	must(fs.Parse(args))
	tk := startTicker()
	time.Sleep(time.Duration(*secs * float64(time.Second)))
	emit(map[string]any{"cmd": "ticker", "ticker": tk.finish()})
}
