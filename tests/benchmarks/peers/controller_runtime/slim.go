package main

import corev1 "k8s.io/api/core/v1"

// slim is the Pod projection of the component program, as a user of controller-runtime would write it: all metadata but
// managedFields, where it runs, what its containers are started with, whether it is ready, and how its containers ended.
func slim(o any) (any, error) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	p.ManagedFields = nil
	spec := corev1.PodSpec{NodeName: p.Spec.NodeName, SchedulerName: p.Spec.SchedulerName}
	for _, c := range p.Spec.Containers {
		spec.Containers = append(spec.Containers, corev1.Container{Name: c.Name, Command: c.Command, Args: c.Args})
	}
	for _, c := range p.Spec.InitContainers {
		if c.Name == "gms-server" {
			spec.InitContainers = append(spec.InitContainers, corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy})
		}
	}
	for _, v := range p.Spec.Volumes {
		if v.ConfigMap != nil || v.DownwardAPI != nil {
			spec.Volumes = append(spec.Volumes, v)
		}
	}
	status := corev1.PodStatus{Phase: p.Status.Phase}
	for _, c := range p.Status.Conditions {
		switch c.Type {
		case corev1.PodReady:
			status.Conditions = append(status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status})
		case corev1.DisruptionTarget, "nvidia.com/snapshot-restored":
			status.Conditions = append(status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason})
		}
	}
	status.ContainerStatuses = slimStatuses(p.Status.ContainerStatuses)
	status.InitContainerStatuses = slimStatuses(p.Status.InitContainerStatuses)
	p.Spec, p.Status = spec, status
	return p, nil
}

func slimStatuses(in []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, s := range in {
		kept := corev1.ContainerStatus{Name: s.Name, RestartCount: s.RestartCount}
		if w := s.State.Waiting; w != nil {
			kept.State.Waiting = &corev1.ContainerStateWaiting{Reason: w.Reason, Message: w.Message}
		}
		if t := s.State.Terminated; t != nil {
			kept.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: t.ExitCode, Reason: t.Reason, Message: t.Message}
		}
		if t := s.LastTerminationState.Terminated; t != nil {
			kept.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: t.ExitCode, Reason: t.Reason}
		}
		out = append(out, kept)
	}
	return out
}
