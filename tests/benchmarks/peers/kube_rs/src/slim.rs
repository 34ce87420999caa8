//! The Pod projection of the component program, as a user of kube-rs would write it: all metadata but managedFields, where it
//! runs, what its containers are started with, whether it is ready, and how its containers ended.

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, Pod, PodCondition, PodSpec, PodStatus,
};

pub fn slim(p: &mut Pod) {
    p.metadata.managed_fields = None;
    if let Some(s) = p.spec.take() {
        p.spec = Some(spec(s));
    }
    if let Some(s) = p.status.take() {
        p.status = Some(status(s));
    }
}

fn spec(s: PodSpec) -> PodSpec {
    let started = |c: Container| Container { name: c.name, command: c.command, args: c.args, ..Container::default() };
    let init = |c: Container| Container { name: c.name, restart_policy: c.restart_policy, ..Container::default() };
    PodSpec {
        node_name: s.node_name,
        scheduler_name: s.scheduler_name,
        containers: s.containers.into_iter().map(started).collect(),
        init_containers: s.init_containers.map(|all| all.into_iter().filter(|c| c.name == "gms-server").map(init).collect()),
        volumes: s.volumes.map(|all| all.into_iter().filter(|v| v.config_map.is_some() || v.downward_api.is_some()).collect()),
        ..PodSpec::default()
    }
}

fn status(s: PodStatus) -> PodStatus {
    let condition = |c: PodCondition| match c.type_.as_str() {
        "Ready" => Some(PodCondition { type_: c.type_, status: c.status, ..PodCondition::default() }),
        "DisruptionTarget" | "nvidia.com/snapshot-restored" => {
            Some(PodCondition { type_: c.type_, status: c.status, reason: c.reason, ..PodCondition::default() })
        }
        _ => None,
    };
    let slimmed = |all: Vec<ContainerStatus>| all.into_iter().map(container).collect();
    PodStatus {
        phase: s.phase,
        conditions: s.conditions.map(|all| all.into_iter().filter_map(condition).collect()),
        container_statuses: s.container_statuses.map(slimmed),
        init_container_statuses: s.init_container_statuses.map(slimmed),
        ..PodStatus::default()
    }
}

fn container(s: ContainerStatus) -> ContainerStatus {
    let (state, last) = (s.state.unwrap_or_default(), s.last_state.unwrap_or_default());
    let waiting = |w: ContainerStateWaiting| ContainerStateWaiting { reason: w.reason, message: w.message };
    let ended = |t: ContainerStateTerminated| ContainerStateTerminated {
        exit_code: t.exit_code,
        reason: t.reason,
        message: t.message,
        ..ContainerStateTerminated::default()
    };
    ContainerStatus {
        name: s.name,
        restart_count: s.restart_count,
        state: Some(ContainerState { waiting: state.waiting.map(waiting), terminated: state.terminated.map(ended), running: None }),
        last_state: last.terminated.map(|t| ContainerState { terminated: Some(ended(t)), ..ContainerState::default() }),
        ..ContainerStatus::default()
    }
}
