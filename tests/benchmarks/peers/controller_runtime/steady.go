package main

import (
	"context"
	"flag"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// cmdSteady does empty reconciles through a real controller, with keys that are fed in process.
func cmdSteady(args []string) {
	fs := flag.NewFlagSet("steady", flag.ExitOnError)
	total := fs.Int("total", 300000, "")
	window := fs.Int("window", 1000, "most keys outstanding; keys cycle over 10,000 names")
	workers := fs.Int("workers", 1, "")
	classic := fs.Bool("classic", false, "the classic queue instead of the priority queue")
	must(fs.Parse(args))
	ctx := context.Background()
	mgr := startedManager(ctx, restConfig(), nil, 0)
	sem := make(chan struct{}, *window)
	var count atomic.Int64
	done := make(chan struct{})
	rec := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		<-sem
		if count.Add(1) == int64(*total) {
			close(done)
		}
		return reconcile.Result{}, nil
	})
	pq := !*classic
	ctl := must1(controller.New("bench", mgr, controller.Options{MaxConcurrentReconciles: *workers, UsePriorityQueue: &pq, Reconciler: rec}))
	queue := make(chan workqueue.TypedRateLimitingInterface[reconcile.Request], 1)
	must(ctl.Watch(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue <- q
		return nil
	})))
	q := <-queue
	time.Sleep(500 * time.Millisecond)
	const keys = 10000
	reqs := make([]reconcile.Request, keys)
	for i := range reqs {
		reqs[i].Namespace, reqs[i].Name = ns, podName(i)
	}
	cpu0, t0 := cpuSeconds(), time.Now()
	for i := 0; i < *total; i++ {
		sem <- struct{}{}
		q.Add(reqs[i%keys])
	}
	<-done
	wall := time.Since(t0).Seconds()
	emit(map[string]any{"cmd": "steady", "workers": *workers, "window": *window, "classic": *classic, "wall_s": wall,
		"per_s": float64(*total) / wall, "cpu_us": (cpuSeconds() - cpu0) / float64(*total) * 1e6})
}
