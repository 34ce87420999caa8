package main

import (
	"context"
	"flag"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// cmdRestart goes from the start of the process to the first reconcile, and to the n-th.
func cmdRestart(args []string) {
	fs := flag.NewFlagSet("restart", flag.ExitOnError)
	n := fs.Int64("n", 10000, "")
	must(fs.Parse(args))
	spawned, err := strconv.ParseInt(os.Getenv("BENCH_T0_NS"), 10, 64)
	must(err)
	ctx := context.Background()
	mgr := newManager(restConfig())
	built := time.Now()
	var count atomic.Int64
	first, last := make(chan time.Time, 1), make(chan time.Time, 1)
	rec := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		switch count.Add(1) {
		case 1:
			first <- time.Now()
		case *n:
			last <- time.Now()
		}
		return reconcile.Result{}, nil
	})
	must(ctrl.NewControllerManagedBy(mgr).For(&corev1.Pod{}).Named("bench").Complete(rec))
	go func() { must(mgr.Start(ctx)) }()
	ms := func(x time.Time) float64 { return float64(x.UnixNano()-spawned) / 1e6 }
	f, l := <-first, <-last
	emit(map[string]any{"cmd": "restart", "n": *n, "main_ms": ms(mainEntry), "built_ms": ms(built), "first_ms": ms(f), "all_ms": ms(l), "cpu_s": cpuSeconds()})
}
