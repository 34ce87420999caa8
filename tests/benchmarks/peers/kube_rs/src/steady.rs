//! Empty reconciles through a real controller, keys fed in process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use futures::{StreamExt, channel::mpsc};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::ObjectRef;
use serde_json::json;

use crate::controller::{ctl_config, err_policy};
use crate::measure::{Flags, NS, client, cpu_seconds, emit, flag, pod_name, watch_config};

pub async fn run(f: Flags) {
    let total = flag(&f, "total", 300000u64);
    let window = flag(&f, "window", 1000usize);
    let seeded = flag(&f, "n", 10000u64);
    const KEYS: usize = 10000;
    let count = Arc::new(AtomicU64::new(0));
    let accounted = Arc::new(AtomicU64::new(0));
    let sem = Arc::new(tokio::sync::Semaphore::new(window));
    // additions per key not yet seen by a reconcile: the scheduler merges equal keys
    let adds: Arc<Vec<AtomicU64>> = Arc::new((0..KEYS).map(|_| AtomicU64::new(0)).collect());
    let done = Arc::new(tokio::sync::Notify::new());
    let (tx, rx) = mpsc::unbounded::<ObjectRef<Pod>>();
    let api: Api<Pod> = Api::all(client().await);
    let (c, s, a, ac, d) = (count.clone(), sem.clone(), adds.clone(), accounted.clone(), done.clone());
    tokio::spawn(
        Controller::new(api, watch_config(&f))
            .with_config(ctl_config(&f))
            .reconcile_on(rx)
            .run(
                move |p: Arc<Pod>, _: Arc<()>| {
                    c.fetch_add(1, SeqCst);
                    let i: usize = p.metadata.name.as_deref().unwrap()[4..].parse().unwrap();
                    let k = if i < KEYS { a[i].swap(0, SeqCst) } else { 0 };
                    if k > 0 {
                        s.add_permits(k as usize);
                        if ac.fetch_add(k, SeqCst) + k == total {
                            d.notify_one();
                        }
                    }
                    std::future::ready(Ok::<_, kube::Error>(Action::await_change()))
                },
                err_policy,
                Arc::new(()),
            )
            .for_each(|_| std::future::ready(())),
    );
    while count.load(SeqCst) < seeded {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    count.store(0, SeqCst);
    let keys: Vec<ObjectRef<Pod>> = (0..KEYS).map(|i| ObjectRef::new(&pod_name(i)).within(NS)).collect();
    let (cpu0, t0) = (cpu_seconds(), Instant::now());
    tokio::spawn(async move {
        for i in 0..total as usize {
            sem.acquire().await.unwrap().forget();
            adds[i % KEYS].fetch_add(1, SeqCst);
            tx.unbounded_send(keys[i % KEYS].clone()).unwrap();
        }
        std::future::pending::<()>().await;
    });
    done.notified().await;
    let (wall, n) = (t0.elapsed().as_secs_f64(), count.load(SeqCst));
    emit(
        json!({"cmd": "steady", "workers": flag(&f, "workers", 1u16), "window": window, "wall_s": wall,
        "per_s": n as f64 / wall, "reconciles": n, "adds": total, "cpu_us": (cpu_seconds() - cpu0) / n as f64 * 1e6}),
    );
    std::process::exit(0);
}
