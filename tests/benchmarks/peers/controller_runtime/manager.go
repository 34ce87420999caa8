package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func newScheme() *kruntime.Scheme {
	s := kruntime.NewScheme()
	must(clientgoscheme.AddToScheme(s))
	gv := schema.GroupVersion{Group: "bench.example.com", Version: "v1"}
	s.AddKnownTypes(gv, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(s, gv)
	return s
}

// object is an empty object of a kind, with every field typed.
func object(kind string) client.Object {
	if kind == "widget" {
		return &Widget{}
	}
	return &corev1.Pod{}
}

func restConfig() *rest.Config { return ctrl.GetConfigOrDie() }

func newManager(cfg *rest.Config) ctrl.Manager {
	return must1(ctrl.NewManager(cfg, ctrl.Options{Scheme: newScheme(), Metrics: metricsserver.Options{BindAddress: "0"}}))
}

// startedManager starts a manager and, if obj is not nil, waits until its cache holds n of them.
func startedManager(ctx context.Context, cfg *rest.Config, obj client.Object, n int) ctrl.Manager {
	mgr := newManager(cfg)
	if obj != nil {
		must1(mgr.GetCache().GetInformer(ctx, obj, cache.BlockUntilSynced(false)))
	}
	go func() { must(mgr.Start(ctx)) }()
	<-mgr.Elected()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		must(fmt.Errorf("cache did not sync"))
	}
	if obj != nil {
		if got := storeLen(ctx, mgr.GetCache(), obj); got != n {
			must(fmt.Errorf("cache holds %d objects, want %d", got, n))
		}
	}
	return mgr
}

func storeLen(ctx context.Context, c cache.Cache, obj client.Object) int {
	inf := must1(c.GetInformer(ctx, obj))
	return len(inf.(toolscache.SharedIndexInformer).GetStore().ListKeys())
}
