//! Flags, clocks, memory, and the one line of JSON that is the answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kube::runtime::watcher;
use kube::{Client, Config};
use serde_json::{Value, json};

pub const NS: &str = "bench";
pub const TS: &str = "bench.example.com/ts";

pub type Flags = HashMap<String, String>;
pub fn flags() -> Flags {
    let mut m = HashMap::new();
    let a: Vec<String> = std::env::args().skip(2).collect();
    let mut i = 0;
    while i < a.len() {
        let k = a[i].trim_start_matches('-').to_string();
        if i + 1 < a.len() && !a[i + 1].starts_with('-') {
            m.insert(k, a[i + 1].clone());
            i += 2;
        } else {
            m.insert(k, "true".into());
            i += 1;
        }
    }
    m
}
pub fn flag<T: std::str::FromStr>(f: &Flags, k: &str, d: T) -> T {
    f.get(k).and_then(|v| v.parse().ok()).unwrap_or(d)
}
pub fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64
}
pub fn cpu_seconds() -> f64 {
    let mut u: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut u) };
    let f = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    f(u.ru_utime) + f(u.ru_stime)
}
pub fn proc_status(field: &str) -> f64 {
    let s = std::fs::read_to_string("/proc/self/status").unwrap();
    let l = s.lines().find(|l| l.starts_with(&format!("{field}:"))).unwrap();
    l.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 1024.0
}
/// Bytes handed out by glibc malloc and not freed.
pub fn heap_in_use() -> f64 {
    let m = unsafe { libc::mallinfo2() };
    (m.uordblks + m.hblkhd) as f64
}
pub fn emit(mut v: Value) {
    v["impl"] = json!("kube-rs");
    println!("{v}");
}
pub async fn client() -> Client {
    Client::try_from(Config::infer().await.unwrap()).unwrap()
}
pub fn pod_name(i: usize) -> String {
    format!("pod-{i:06}")
}
pub fn watch_config(f: &Flags) -> watcher::Config {
    match flag(f, "list", "default".to_string()).as_str() {
        "streaming" => watcher::Config::default().streaming_lists(),
        "any-nopage" => {
            let mut c = watcher::Config::default().any_semantic();
            c.page_size = None;
            c
        }
        _ => watcher::Config::default(),
    }
}

pub struct Ticker {
    stop: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<Vec<f64>>,
}
pub fn start_ticker() -> Ticker {
    let stop = Arc::new(AtomicBool::new(false));
    let s = stop.clone();
    let task = tokio::spawn(async move {
        let mut iv = tokio::time::interval(Duration::from_millis(1));
        iv.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        iv.tick().await;
        let (mut gaps, mut last) = (Vec::new(), Instant::now());
        while !s.load(SeqCst) {
            iv.tick().await;
            let now = Instant::now();
            gaps.push((now - last).as_secs_f64() * 1e3);
            last = now;
        }
        gaps
    });
    Ticker { stop, task }
}
impl Ticker {
    pub async fn finish(self) -> Value {
        self.stop.store(true, SeqCst);
        let mut g = self.task.await.unwrap();
        g.sort_by(f64::total_cmp);
        let q = |p: f64| g[((p * g.len() as f64) as usize).min(g.len() - 1)];
        json!({"max_ms": q(1.0), "p99_ms": q(0.99), "p999_ms": q(0.999), "ticks": g.len(),
               "over_10ms": g.iter().filter(|x| **x > 10.0).count(), "over_50ms": g.iter().filter(|x| **x > 50.0).count()})
    }
}
