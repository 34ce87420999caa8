//! From a write to the reconcile: the reader.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::controller::{Action, Controller};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::controller::{ctl_config, err_policy};
use crate::measure::{Flags, TS, client, cpu_seconds, emit, flag, now_ns, watch_config};
use crate::widget::Widget;

pub async fn run(f: Flags) {
    let n = flag(&f, "n", 2000usize);
    let idle = flag(&f, "idle", 3.0f64);
    let rows = Arc::new(Mutex::new(Vec::<(String, String, i64)>::with_capacity(100000)));
    let api: Api<Widget> = Api::all(client().await);
    let r = rows.clone();
    tokio::spawn(
        Controller::new(api, watch_config(&f))
            .with_config(ctl_config(&f))
            .run(
                move |w: Arc<Widget>, _: Arc<()>| {
                    let entry = now_ns();
                    let ts = w.annotations().get(TS).cloned().unwrap_or_default();
                    r.lock().unwrap().push((w.name_any(), ts, entry));
                    std::future::ready(Ok::<_, kube::Error>(Action::await_change()))
                },
                err_policy,
                Arc::new(()),
            )
            .for_each(|_| std::future::ready(())),
    );
    while rows.lock().unwrap().len() < n {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    rows.lock().unwrap().clear();
    let cpu0 = cpu_seconds();
    if let Some(p) = f.get("ready") {
        std::fs::write(p, "").unwrap();
    }
    while rows.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        if (now_ns() - rows.lock().unwrap().last().unwrap().2) as f64 > idle * 1e9 {
            break;
        }
    }
    let cpu = cpu_seconds() - cpu0;
    let rows = rows.lock().unwrap();
    let text: String = rows.iter().map(|(n, t, e)| format!("{n},{t},{e}\n")).collect();
    std::fs::write(flag(&f, "out", "seen.csv".to_string()), text).unwrap();
    emit(json!({"cmd": "latency", "workers": flag(&f, "workers", 1u16), "rows": rows.len(), "cpu_s": cpu}));
}
