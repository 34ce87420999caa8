//! Reads of a synced store in one thread. There is no index: an indexed lookup is a scan.

use std::hint::black_box;
use std::time::Instant;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::core::{Expression, Selector};
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::watcher::watcher;
use serde_json::{Value, json};

use crate::measure::{Flags, NS, client, emit, flag, pod_name, watch_config};

fn bench(mut op: impl FnMut(usize)) -> Value {
    let (mut n, mut took) = (1usize, 0f64);
    loop {
        let t = Instant::now();
        for i in 0..n {
            op(i)
        }
        let s = t.elapsed().as_secs_f64();
        took = took.max(s);
        if s >= 1.0 || n >= 1 << 30 {
            return json!({"ns": s * 1e9 / n as f64, "ops": n});
        }
        n = ((n as f64 * (1.2 / s.max(1e-6))) as usize).clamp(n + 1, n.saturating_mul(100));
    }
}

pub async fn run(f: Flags) {
    let n = flag(&f, "n", 10000usize);
    let (reader, writer) = reflector::store::<Pod>();
    let api: Api<Pod> = Api::all(client().await);
    tokio::spawn(
        reflector::reflector(writer, watcher(api, watch_config(&f)))
            .default_backoff()
            .for_each(|_| std::future::ready(())),
    );
    reader.wait_until_ready().await.unwrap();
    assert_eq!(reader.len(), n);
    let mut order: Vec<usize> = (0..n).collect();
    let mut x = 88172645463325252u64;
    for i in (1..n).rev() {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        order.swap(i, (x % (i as u64 + 1)) as usize);
    }
    let refs: Vec<ObjectRef<Pod>> = (0..n).map(|i| ObjectRef::new(&pod_name(i)).within(NS)).collect();
    let sel: Selector = Expression::Equal("app".into(), "app-7".into()).into();
    let filter = || {
        reader.state_filter(|p| {
            p.metadata.namespace.as_deref() == Some(NS) && p.metadata.labels.as_ref().and_then(|l| l.get("app")).map(String::as_str) == Some("app-7")
        })
    };
    assert_eq!(filter().len(), 10);
    assert_eq!(reader.state_filter_selector(&sel).len(), 10);
    emit(json!({"cmd": "lookup", "n": n,
        "label_selector": bench(|_| { black_box(reader.state_filter_selector(&sel)); }),
        "label_closure": bench(|_| { black_box(filter()); }),
        "get_spread": bench(|i| { black_box(reader.get(&refs[order[i % n]]).unwrap()); }),
    }));
}
