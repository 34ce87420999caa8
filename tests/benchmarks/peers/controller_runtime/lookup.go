package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cmdLookup reads a synced cache in one goroutine.
func cmdLookup(args []string) {
	fs := flag.NewFlagSet("lookup", flag.ExitOnError)
	n := fs.Int("n", 10000, "")
	must(fs.Parse(args))
	ctx := context.Background()
	c := must1(cache.New(restConfig(), cache.Options{Scheme: newScheme()}))
	must(c.IndexField(ctx, &corev1.Pod{}, "app", func(o client.Object) []string { return []string{o.GetLabels()["app"]} }))
	must1(c.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false)))
	go func() { must(c.Start(ctx)) }()
	c.WaitForCacheSync(ctx)
	if got := storeLen(ctx, c, &corev1.Pod{}); got != *n {
		must(fmt.Errorf("cache holds %d, want %d", got, *n))
	}
	gcNow()
	out := map[string]any{"cmd": "lookup", "n": *n}
	groups := *n / 10
	apps := make([]string, groups)
	for i := range apps {
		apps[i] = "app-" + strconv.Itoa(i)
	}
	names := make([]string, *n)
	for i := range names {
		names[i] = podName(i)
	}
	r := rand.New(rand.NewSource(1))
	order := r.Perm(*n)
	bench := func(name string, f func(i int)) {
		res := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				f(i)
			}
		})
		out[name] = map[string]any{"ns": float64(res.T.Nanoseconds()) / float64(res.N), "B": res.AllocedBytesPerOp(), "allocs": res.AllocsPerOp(), "ops": res.N}
	}
	want := func(l *corev1.PodList, k int) {
		if len(l.Items) != k {
			must(fmt.Errorf("list returned %d, want %d", len(l.Items), k))
		}
	}
	list := func(k int, opts ...client.ListOption) {
		var l corev1.PodList
		must(c.List(ctx, &l, opts...))
		want(&l, k)
	}
	bench("index_spread", func(i int) {
		list(10, client.InNamespace(ns), client.MatchingFields{"app": apps[order[i%*n]/10]})
	})
	bench("index_spread_nocopy", func(i int) {
		list(10, client.InNamespace(ns), client.MatchingFields{"app": apps[order[i%*n]/10]}, client.UnsafeDisableDeepCopy)
	})
	bench("label", func(int) { list(10, client.InNamespace(ns), client.MatchingLabels{"app": "app-7"}) })
	bench("label_nocopy", func(int) {
		list(10, client.InNamespace(ns), client.MatchingLabels{"app": "app-7"}, client.UnsafeDisableDeepCopy)
	})
	bench("get_spread", func(i int) {
		var p corev1.Pod
		must(c.Get(ctx, types.NamespacedName{Namespace: ns, Name: names[order[i%*n]]}, &p))
	})
	bench("get_spread_nocopy", func(i int) {
		var p corev1.Pod
		must(c.Get(ctx, types.NamespacedName{Namespace: ns, Name: names[order[i%*n]]}, &p, client.UnsafeDisableDeepCopy))
	})
	emit(out)
}
