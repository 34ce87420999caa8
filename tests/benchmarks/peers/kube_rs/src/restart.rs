//! From the start of the process to the first reconcile, and to the n-th.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::runtime::controller::{Action, Controller};
use serde_json::json;

use crate::controller::{ctl_config, err_policy};
use crate::measure::{Flags, client, cpu_seconds, emit, flag, now_ns, watch_config};

pub async fn run(f: Flags, main_entry: i64) {
    let n = flag(&f, "n", 10000u64);
    let spawned: i64 = std::env::var("BENCH_T0_NS").unwrap().parse().unwrap();
    let api: Api<Pod> = Api::all(client().await);
    let built = now_ns();
    let (first, last) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let count = Arc::new(AtomicU64::new(0));
    let done = Arc::new(tokio::sync::Notify::new());
    let (fi, la, c, d) = (first.clone(), last.clone(), count.clone(), done.clone());
    tokio::spawn(
        Controller::new(api, watch_config(&f))
            .with_config(ctl_config(&f))
            .run(
                move |_: Arc<Pod>, _: Arc<()>| {
                    let k = c.fetch_add(1, SeqCst) + 1;
                    if k == 1 {
                        fi.store(now_ns(), SeqCst);
                    }
                    if k == n {
                        la.store(now_ns(), SeqCst);
                        d.notify_one();
                    }
                    std::future::ready(Ok::<_, kube::Error>(Action::await_change()))
                },
                err_policy,
                Arc::new(()),
            )
            .for_each(|_| std::future::ready(())),
    );
    done.notified().await;
    let ms = |x: i64| (x - spawned) as f64 / 1e6;
    emit(
        json!({"cmd": "restart", "n": n, "main_ms": ms(main_entry), "built_ms": ms(built), "first_ms": ms(first.load(SeqCst)),
        "all_ms": ms(last.load(SeqCst)), "cpu_s": cpu_seconds(), "list": flag(&f, "list", "default".to_string())}),
    );
}
