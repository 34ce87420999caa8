// The objects that are measured with. This file is their definition; ../../objects.py says the same for runs without a server.

package main

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	ns    = "bench"
	tsAnn = "bench.example.com/ts"
)

func podName(i int) string    { return fmt.Sprintf("pod-%06d", i) }
func widgetName(i int) string { return fmt.Sprintf("widget-%06d", i) }

// mote is an object as small as objects are: 0.3 KB from the server.
func mote(i int) *Mote {
	return &Mote{TypeMeta: metav1.TypeMeta{APIVersion: "bench.example.com/v1", Kind: "Mote"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("mote-%06d", i), Namespace: ns, Labels: map[string]string{"app": "app-" + strconv.Itoa(i/10)}},
		Spec:       MoteSpec{Value: "value-" + strconv.Itoa(i)}}
}

var seedTime = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

func pod(i int) *corev1.Pod {
	app := "app-" + strconv.Itoa(i/10)
	yes := true
	cond := func(t corev1.PodConditionType) corev1.PodCondition {
		return corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: seedTime}
	}
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: podName(i), Namespace: ns,
			Labels:          map[string]string{"app": app, "bench.example.com/graph": "graph-" + strconv.Itoa(i/100), "bench.example.com/component": "component-" + strconv.Itoa(i%10)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-7d4b9c6f5", UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i/10)), Controller: &yes, BlockOwnerDeletion: &yes}},
		},
		Spec: corev1.PodSpec{NodeName: "node-" + strconv.Itoa(i%100),
			Containers: []corev1.Container{{Name: "main", Image: "images.example.com/team/worker:1.4.2",
				Env:       []corev1.EnvVar{{Name: "GRAPH", Value: "graph-" + strconv.Itoa(i/100)}, {Name: "COMPONENT", Value: "component-" + strconv.Itoa(i%10)}, {Name: "LOG_LEVEL", Value: "info"}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("512Mi")}},
				Ports:     []corev1.ContainerPort{{Name: "http", ContainerPort: 8000, Protocol: "TCP"}},
			}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.%d.%d.%d", i/65536, i/256%256, i%256), HostIP: "192.168.0.1", StartTime: &seedTime,
			Conditions: []corev1.PodCondition{cond(corev1.PodInitialized), cond(corev1.PodReady), cond(corev1.ContainersReady), cond(corev1.PodScheduled)},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Ready: true, Started: &yes, Image: "images.example.com/team/worker:1.4.2",
				ImageID: "images.example.com/team/worker@sha256:9b2a7c5e", ContainerID: fmt.Sprintf("containerd://%032x", i),
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: seedTime}}}}},
	}
}

func widget(i int) *Widget {
	svc := func(c string, r int32) *Service {
		return &Service{Component: c, Replicas: r, Image: "images.example.com/team/" + c + ":1.4.2",
			Args:     []string{"--model", "example/model-8b", "--max-batch", "64", "--port", "8000"},
			Requests: map[string]string{"cpu": "4", "memory": "16Gi"}, Limits: map[string]string{"cpu": "8", "memory": "32Gi", "example.com/gpu": "1"},
			Ports: []Port{{"http", 8000}, {"metrics", 9090}}}
	}
	return &Widget{TypeMeta: metav1.TypeMeta{APIVersion: "bench.example.com/v1", Kind: "Widget"},
		ObjectMeta: metav1.ObjectMeta{Name: widgetName(i), Namespace: ns,
			Labels:      map[string]string{"app": "app-" + strconv.Itoa(i/10), "bench.example.com/graph": "graph-" + strconv.Itoa(i/100), "bench.example.com/component": "component-" + strconv.Itoa(i%10)},
			Annotations: map[string]string{tsAnn: "0"}},
		Spec: WidgetSpec{Replicas: 3, Backend: "vllm", Selector: map[string]string{"app": "app-" + strconv.Itoa(i/10)},
			Env:      []NameValue{{"GRAPH", "graph-" + strconv.Itoa(i/100)}, {"LOG_LEVEL", "info"}, {"REGION", "eu-central-1"}},
			Services: map[string]*Service{"frontend": svc("frontend", 1), "prefill": svc("prefill", 2), "decode": svc("decode", 4)}},
		Status: WidgetStatus{ObservedGeneration: 1, State: "successful", Run: "seed",
			Conditions: []metav1.Condition{{Type: "Ready", Status: "True", LastTransitionTime: seedTime, Reason: "AllServicesReady", Message: "all 3 services are ready"},
				{Type: "Progressing", Status: "False", LastTransitionTime: seedTime, Reason: "Settled", Message: "nothing to do"}}},
	}
}
