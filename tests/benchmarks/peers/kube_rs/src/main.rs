//! peerbench measures kube-rs on a real kube-apiserver. Every subcommand is one
//! measurement in one fresh process and prints one line of JSON. See
//! ../../PROTOCOL.md for what each number means.

mod controller;
mod events;
mod fill;
mod latency;
mod lookup;
mod measure;
mod queue;
mod restart;
mod slim;
mod status;
mod steady;
mod widget;

#[tokio::main]
async fn main() {
    let entry = measure::now_ns();
    let f = measure::flags();
    match std::env::args().nth(1).as_deref() {
        Some("fill") => fill::run(f).await,
        Some("lookup") => lookup::run(f).await,
        Some("queue") => queue::run().await,
        Some("steady") => steady::run(f).await,
        Some("latency") => latency::run(f).await,
        Some("status") => status::run(f).await,
        Some("events") => events::run(f).await,
        Some("restart") => restart::run(f, entry).await,
        _ => {
            eprintln!("usage: peerbench fill|lookup|queue|steady|latency|status|restart|events [flags]");
            std::process::exit(2);
        }
    }
}
