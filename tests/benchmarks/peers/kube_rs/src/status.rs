//! One read from the store and one status patch for each object.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::{SinkExt, StreamExt, channel::mpsc};
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::controller::{ctl_config, err_policy};
use crate::measure::{Flags, NS, client, cpu_seconds, emit, flag, now_ns, watch_config};
use crate::widget::Widget;

pub async fn run(f: Flags) {
    let n = flag(&f, "n", 2000usize);
    let run = flag(&f, "run", format!("{:x}", now_ns()));
    let calls = Arc::new(AtomicU64::new(0));
    let patches = Arc::new(AtomicU64::new(0));
    let live = Arc::new(AtomicBool::new(false));
    let seen = Arc::new(Mutex::new(HashSet::<String>::new()));
    let done = Arc::new(tokio::sync::Notify::new());
    let c = client().await;
    let target: Api<Widget> = Api::namespaced(c.clone(), NS);
    let (mut tx, rx) = mpsc::channel::<()>(1);
    let ctl = Controller::new(Api::<Widget>::all(c), watch_config(&f))
        .with_config(ctl_config(&f))
        .reconcile_all_on(rx);
    {
        let (calls, patches, live, seen, done) = (calls.clone(), patches.clone(), live.clone(), seen.clone(), done.clone());
        tokio::spawn(
            ctl.run(
                move |w: Arc<Widget>, _: Arc<()>| {
                    let (calls, patches, live, seen, done) = (calls.clone(), patches.clone(), live.clone(), seen.clone(), done.clone());
                    let (target, run) = (target.clone(), run.clone());
                    async move {
                        calls.fetch_add(1, SeqCst);
                        if !live.load(SeqCst) || w.status.as_ref().and_then(|s| s.run.as_deref()) == Some(&run) {
                            return Ok::<_, kube::Error>(Action::await_change());
                        }
                        let name = w.name_any();
                        target
                            .patch_status(&name, &PatchParams::default(), &Patch::Merge(json!({"status": {"run": run}})))
                            .await?;
                        patches.fetch_add(1, SeqCst);
                        let mut s = seen.lock().unwrap();
                        if s.insert(name) && s.len() == n {
                            done.notify_one();
                        }
                        Ok(Action::await_change())
                    }
                },
                err_policy,
                Arc::new(()),
            )
            .for_each(|_| std::future::ready(())),
        );
    }
    while calls.load(SeqCst) < n as u64 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    calls.store(0, SeqCst);
    live.store(true, SeqCst);
    let (cpu0, t0) = (cpu_seconds(), Instant::now());
    tx.send(()).await.unwrap();
    done.notified().await;
    let (wall, cpu) = (t0.elapsed().as_secs_f64(), cpu_seconds() - cpu0);
    tokio::time::sleep(Duration::from_secs(1)).await;
    emit(
        json!({"cmd": "status", "n": n, "workers": flag(&f, "workers", 1u16), "wall_s": wall, "per_s": n as f64 / wall, "cpu_s": cpu, "cpu_us": cpu / n as f64 * 1e6,
        "calls": calls.load(SeqCst), "patches": patches.load(SeqCst)}),
    );
}
