//! The custom resource, with every field that its objects have.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "bench.example.com",
    version = "v1",
    kind = "Widget",
    namespaced,
    status = "WidgetStatus",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
pub struct WidgetSpec {
    pub replicas: Option<i32>,
    pub paused: Option<bool>,
    pub backend: Option<String>,
    pub selector: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub env: Vec<NameValue>,
    #[serde(default)]
    pub services: BTreeMap<String, Service>,
}
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NameValue {
    pub name: String,
    pub value: Option<String>,
}
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Service {
    pub component: Option<String>,
    pub replicas: Option<i32>,
    pub image: Option<String>,
    #[serde(default)]
    pub args: Vec<String>,
    pub requests: Option<BTreeMap<String, String>>,
    pub limits: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub ports: Vec<Port>,
}
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Port {
    pub name: String,
    pub port: i32,
}
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WidgetStatus {
    pub observed_generation: Option<i64>,
    pub state: Option<String>,
    pub run: Option<String>,
    #[serde(default)]
    pub conditions: Vec<Condition>,
}
