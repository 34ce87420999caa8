package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
)

// Widget is the custom resource, with every field that its objects have.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpec   `json:"spec,omitempty"`
	Status            WidgetStatus `json:"status,omitempty"`
}
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Widget `json:"items"`
}
type WidgetSpec struct {
	Replicas int32               `json:"replicas,omitempty"`
	Paused   bool                `json:"paused,omitempty"`
	Backend  string              `json:"backend,omitempty"`
	Selector map[string]string   `json:"selector,omitempty"`
	Env      []NameValue         `json:"env,omitempty"`
	Services map[string]*Service `json:"services,omitempty"`
}
type NameValue struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}
type Service struct {
	Component string            `json:"component,omitempty"`
	Replicas  int32             `json:"replicas,omitempty"`
	Image     string            `json:"image,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Requests  map[string]string `json:"requests,omitempty"`
	Limits    map[string]string `json:"limits,omitempty"`
	Ports     []Port            `json:"ports,omitempty"`
}
type Port struct {
	Name string `json:"name"`
	Port int32  `json:"port"`
}
type WidgetStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	State              string             `json:"state,omitempty"`
	Run                string             `json:"run,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

func cpMap(in map[string]string) map[string]string {
	if in == nil {
		return nil
	}
	out := make(map[string]string, len(in))
	for k, v := range in {
		out[k] = v
	}
	return out
}
func (in *Widget) DeepCopyInto(out *Widget) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Selector = cpMap(in.Spec.Selector)
	out.Spec.Env = append([]NameValue(nil), in.Spec.Env...)
	if in.Spec.Services != nil {
		out.Spec.Services = make(map[string]*Service, len(in.Spec.Services))
		for k, v := range in.Spec.Services {
			s := *v
			s.Args = append([]string(nil), v.Args...)
			s.Requests = cpMap(v.Requests)
			s.Limits = cpMap(v.Limits)
			s.Ports = append([]Port(nil), v.Ports...)
			out.Spec.Services[k] = &s
		}
	}
	if in.Status.Conditions != nil {
		out.Status.Conditions = make([]metav1.Condition, len(in.Status.Conditions))
		for i := range in.Status.Conditions {
			in.Status.Conditions[i].DeepCopyInto(&out.Status.Conditions[i])
		}
	}
}
func (in *Widget) DeepCopy() *Widget { out := new(Widget); in.DeepCopyInto(out); return out }
func (in *Widget) DeepCopyObject() kruntime.Object {
	return in.DeepCopy()
}
func (in *WidgetList) DeepCopyObject() kruntime.Object {
	out := &WidgetList{TypeMeta: in.TypeMeta}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	if in.Items != nil {
		out.Items = make([]Widget, len(in.Items))
		for i := range in.Items {
			in.Items[i].DeepCopyInto(&out.Items[i])
		}
	}
	return out
}

// Mote is the tiny custom resource. It is only seeded from here.
type Mote struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              MoteSpec `json:"spec"`
}
type MoteSpec struct {
	Value string `json:"value"`
}

func (in *Mote) DeepCopyObject() kruntime.Object {
	out := &Mote{TypeMeta: in.TypeMeta, Spec: in.Spec}
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}
