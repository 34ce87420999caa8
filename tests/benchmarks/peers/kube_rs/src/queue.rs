//! The scheduler alone; it has no done.

use std::hint::black_box;
use std::time::Instant;

use futures::{StreamExt, channel::mpsc};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::scheduler::{ScheduleRequest, scheduler};
use serde_json::json;

use crate::measure::{NS, emit, pod_name};

pub async fn run() {
    let keys: Vec<ObjectRef<Pod>> = (0..10000).map(|i| ObjectRef::new(&pod_name(i)).within(NS)).collect();
    let (tx, rx) = mpsc::unbounded();
    let mut s = std::pin::pin!(scheduler(rx));
    let add = |i: usize| {
        tx.unbounded_send(ScheduleRequest {
            message: keys[i % 10000].clone(),
            run_at: tokio::time::Instant::now(),
        })
        .unwrap()
    };
    let t = Instant::now();
    let n = 2000;
    for i in 0..n {
        add(i);
        black_box(s.next().await.unwrap());
    }
    let ping = t.elapsed().as_secs_f64() * 1e9 / n as f64;
    let t = Instant::now();
    let rounds = 50;
    for _ in 0..rounds {
        for i in 0..10000 {
            add(i);
        }
        for _ in 0..10000 {
            black_box(s.next().await.unwrap());
        }
    }
    let batch = t.elapsed().as_secs_f64() * 1e9 / (rounds * 10000) as f64;
    emit(json!({"cmd": "queue", "scheduler_pingpong": {"ns": ping}, "scheduler_batch10k": {"ns": batch}}));
}
