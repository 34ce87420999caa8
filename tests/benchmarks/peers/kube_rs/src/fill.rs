//! Fill, memory, stall: a reflector from its start to ready.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::{self, Store, store::Writer};
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Resource, ResourceExt};
use serde_json::json;

use crate::measure::{Flags, client, cpu_seconds, emit, flag, heap_in_use, proc_status, start_ticker, watch_config};
use crate::slim::slim;
use crate::widget::Widget;

/// `touch` reads one spec field and one status field of an object.
async fn fill<K, S>(f: &Flags, stream: S, touch: impl Fn(&K) -> usize)
where
    K: Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static,
    S: Stream<Item = Result<watcher::Event<K>, watcher::Error>> + Send + 'static,
{
    let want = flag(f, "n", 10000usize);
    let writer = Writer::<K>::default();
    let reader: Store<K> = writer.as_reader();
    unsafe { libc::malloc_trim(0) };
    let (rss0, heap0) = (proc_status("VmRSS"), heap_in_use());
    let ticker = f.contains_key("ticker").then(start_ticker);
    if ticker.is_some() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (cpu0, t0) = (cpu_seconds(), Instant::now());
    tokio::spawn(reflector::reflector(writer, stream).default_backoff().for_each(|r| {
        if let Err(e) = r {
            eprintln!("watch error: {e}");
        }
        std::future::ready(())
    }));
    reader.wait_until_ready().await.unwrap();
    if f.contains_key("touch") {
        let touched: usize = reader.state().iter().map(|o| touch(o)).sum();
        assert_ne!(touched, 0);
    }
    let (wall, cpu) = (t0.elapsed().as_secs_f64(), cpu_seconds() - cpu0);
    let mut out = json!({"cmd": "fill", "list": flag(f, "list", "default".to_string()), "sync_s": wall, "cpu_s": cpu});
    if let Some(t) = ticker {
        out["ticker"] = t.finish().await;
    }
    let rss1 = proc_status("VmRSS");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let heap1 = heap_in_use();
    unsafe { libc::malloc_trim(0) };
    let rss2 = proc_status("VmRSS");
    let n = reader.len();
    assert_eq!(n, want);
    let per = |bytes: f64| bytes / n as f64;
    out["n"] = json!(n);
    out["cpu_us"] = json!(per(cpu) * 1e6);
    out["rss_per_obj_after_fill"] = json!(per(rss1 - rss0));
    out["rss_per_obj"] = json!(per(rss2 - rss0));
    out["heap_per_obj"] = json!(per(heap1 - heap0));
    out["peak_rss_mb"] = json!(proc_status("VmHWM") / 1e6);
    emit(out);
}

pub async fn run(f: Flags) {
    let client = client().await;
    if flag(&f, "kind", String::new()) == "widget" {
        let api: Api<Widget> = Api::all(client);
        return fill(&f, watcher(api, watch_config(&f)), |w: &Widget| w.spec.services.len()).await;
    }
    let touch = |p: &Pod| {
        let node = p.spec.as_ref().and_then(|s| s.node_name.as_deref()).unwrap_or_default();
        let phase = p.status.as_ref().and_then(|s| s.phase.as_deref()).unwrap_or_default();
        node.len() * phase.len()
    };
    let api: Api<Pod> = Api::all(client);
    let stream = watcher(api, watch_config(&f));
    match flag(&f, "transform", String::new()).as_str() {
        "strip" => fill(&f, stream.modify(|p| p.managed_fields_mut().clear()), touch).await,
        "slim" => fill(&f, stream.modify(slim), touch).await,
        _ => fill(&f, stream, touch).await,
    }
}
