//! Watch events into the store, from the recorded stream that ../../../ours/player.py plays.

use std::time::{Duration, Instant};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::watcher::watcher;
use serde_json::json;

use crate::measure::{Flags, NS, client, cpu_seconds, emit, flag, pod_name, watch_config};

pub async fn run(f: Flags) {
    let (n, events) = (flag(&f, "n", 1000usize), flag(&f, "events", 50000usize));
    let (reader, writer) = reflector::store::<Pod>();
    let api: Api<Pod> = Api::all(client().await);
    tokio::spawn(
        reflector::reflector(writer, watcher(api, watch_config(&f)))
            .default_backoff()
            .for_each(|_| std::future::ready(())),
    );
    reader.wait_until_ready().await.unwrap();
    let (cpu0, t0) = (cpu_seconds(), Instant::now());
    let last = (n + events).to_string();
    let key = ObjectRef::new(&pod_name((events - 1) % n)).within(NS);
    while reader.get(&key).unwrap().metadata.resource_version.as_deref() != Some(last.as_str()) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let (wall, cpu) = (t0.elapsed().as_secs_f64(), cpu_seconds() - cpu0);
    emit(json!({"cmd": "events", "n": n, "events": events, "per_s": events as f64 / wall, "cpu_us": cpu / events as f64 * 1e6}));
}
