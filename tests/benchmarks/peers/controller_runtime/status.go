package main

import (
	"context"
	"flag"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// cmdStatus does one read from the cache and one status patch for each object.
func cmdStatus(args []string) {
	fs := flag.NewFlagSet("status", flag.ExitOnError)
	n := fs.Int("n", 2000, "")
	workers := fs.Int("workers", 1, "")
	run := fs.String("run", strconv.FormatInt(time.Now().UnixNano(), 36), "value written to status.run")
	must(fs.Parse(args))
	ctx := context.Background()
	mgr := startedManager(ctx, restConfig(), &Widget{}, *n)
	c := mgr.GetClient()
	var calls, patches atomic.Int64
	var seen sync.Map
	var distinct atomic.Int64
	done := make(chan struct{})
	rec := reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		calls.Add(1)
		var w Widget
		if err := c.Get(ctx, r.NamespacedName, &w); err != nil {
			return reconcile.Result{}, err
		}
		if w.Status.Run == *run {
			return reconcile.Result{}, nil
		}
		old := w.DeepCopy()
		w.Status.Run = *run
		if err := c.Status().Patch(ctx, &w, client.MergeFrom(old)); err != nil {
			return reconcile.Result{}, err
		}
		patches.Add(1)
		if _, dup := seen.LoadOrStore(r.Name, true); !dup && distinct.Add(1) == int64(*n) {
			close(done)
		}
		return reconcile.Result{}, nil
	})
	time.Sleep(time.Second)
	gcNow()
	cpu0, t0 := cpuSeconds(), time.Now()
	must(ctrl.NewControllerManagedBy(mgr).For(&Widget{}).Named("bench").WithOptions(controller.Options{MaxConcurrentReconciles: *workers}).Complete(rec))
	<-done
	wall, cpu := time.Since(t0).Seconds(), cpuSeconds()-cpu0
	time.Sleep(time.Second)
	emit(map[string]any{"cmd": "status", "n": *n, "workers": *workers, "wall_s": wall, "per_s": float64(*n) / wall, "cpu_s": cpu, "cpu_us": cpu / float64(*n) * 1e6, "calls": calls.Load(), "patches": patches.Load()})
}
