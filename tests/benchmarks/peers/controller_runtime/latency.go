package main

import (
	"context"
	"encoding/csv"
	"flag"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// cmdLatency is the reader: it notes when a reconcile saw which write.
func cmdLatency(args []string) {
	fs := flag.NewFlagSet("latency", flag.ExitOnError)
	n := fs.Int("n", 2000, "")
	workers := fs.Int("workers", 1, "")
	idle := fs.Float64("idle", 3, "stop this many seconds after the last event")
	outf := fs.String("out", "seen.csv", "")
	ready := fs.String("ready", "", "file created when the controller is idle and ready")
	must(fs.Parse(args))
	ctx := context.Background()
	type row struct {
		name, ts string
		entry    int64
	}
	var mu sync.Mutex
	rows := make([]row, 0, 100000)
	var last, calls atomic.Int64
	mgr := newManager(restConfig())
	rec := reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		entry := time.Now().UnixNano()
		o := object("widget")
		if err := mgr.GetClient().Get(ctx, r.NamespacedName, o); err != nil {
			return reconcile.Result{}, err
		}
		ts := o.GetAnnotations()[tsAnn]
		mu.Lock()
		rows = append(rows, row{r.Name, ts, entry})
		mu.Unlock()
		calls.Add(1)
		last.Store(entry)
		return reconcile.Result{}, nil
	})
	must(ctrl.NewControllerManagedBy(mgr).For(object("widget")).Named("bench").WithOptions(controller.Options{MaxConcurrentReconciles: *workers}).Complete(rec))
	go func() { must(mgr.Start(ctx)) }()
	for calls.Load() < int64(*n) {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond)
	mu.Lock()
	rows = rows[:0]
	mu.Unlock()
	cpu0 := cpuSeconds()
	if *ready != "" {
		must(os.WriteFile(*ready, nil, 0o644))
	}
	start := calls.Load()
	for calls.Load() == start {
		time.Sleep(10 * time.Millisecond)
	}
	for float64(time.Now().UnixNano()-last.Load()) < *idle*1e9 {
		time.Sleep(50 * time.Millisecond)
	}
	cpu := cpuSeconds() - cpu0
	f := must1(os.Create(*outf))
	w := csv.NewWriter(f)
	for _, r := range rows {
		must(w.Write([]string{r.name, r.ts, strconv.FormatInt(r.entry, 10)}))
	}
	w.Flush()
	must(f.Close())
	emit(map[string]any{"cmd": "latency", "workers": *workers, "rows": len(rows), "cpu_s": cpu})
}
