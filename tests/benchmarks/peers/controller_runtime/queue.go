package main

import (
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func newQueue(kind string) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	if kind == "priority" {
		return priorityqueue.New[reconcile.Request]("bench-"+kind, func(o *priorityqueue.Opts[reconcile.Request]) { o.Log = logr.Discard() })
	}
	return workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](),
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: "bench-" + kind})
}

// cmdQueue works a queue alone, without a controller.
func cmdQueue(_ []string) {
	out := map[string]any{"cmd": "queue"}
	const keys = 10000
	reqs := make([]reconcile.Request, keys)
	for i := range reqs {
		reqs[i].Namespace, reqs[i].Name = ns, podName(i)
	}
	for _, kind := range []string{"priority", "classic"} {
		q := newQueue(kind)
		res := testing.Benchmark(func(b *testing.B) { // one key in the queue at a time
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				q.Add(reqs[i%keys])
				r, _ := q.Get()
				q.Done(r)
			}
		})
		out[kind+"_pingpong"] = map[string]any{"ns": res.NsPerOp(), "B": res.AllocedBytesPerOp(), "allocs": res.AllocsPerOp()}
		res = testing.Benchmark(func(b *testing.B) { // 10,000 added, then all taken
			b.ReportAllocs()
			for i := 0; i < b.N; {
				m := min(keys, b.N-i)
				for j := 0; j < m; j++ {
					q.Add(reqs[j])
				}
				for j := 0; j < m; j++ {
					r, _ := q.Get()
					q.Done(r)
				}
				i += m
			}
		})
		out[kind+"_batch10k"] = map[string]any{"ns": res.NsPerOp(), "B": res.AllocedBytesPerOp(), "allocs": res.AllocsPerOp()}
		q.ShutDown()
	}
	emit(out)
}
