//! What all controllers here share.

use std::sync::Arc;
use std::time::Duration;

use kube::runtime::controller::{Action, Config};

use crate::measure::{Flags, flag};

pub fn err_policy<K>(_: Arc<K>, e: &kube::Error, _: Arc<()>) -> Action {
    eprintln!("reconcile error: {e}");
    Action::requeue(Duration::from_secs(1))
}
pub fn ctl_config(f: &Flags) -> Config {
    Config::default().concurrency(flag(f, "workers", 1u16))
}
