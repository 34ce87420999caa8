"""How the sidecars of a mesh talk to an endpoint picker, which serves TLS of its own (P 8.3). Pure."""

from __future__ import annotations

from typing import Any

from dynamo_graph.api.component import Component
from dynamo_graph.api.config import Istio
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.render.endpoint_picker import picker_service
from dynamo_graph.traffic import DESTINATION_RULE, DestinationRule


def render_destination_rule(graph: DynamoGraphDeployment, picker: Component, istio: Istio) -> DestinationRule:
    """The rule for the picker's Service."""
    name, namespace = picker_service(graph, picker), graph.metadata.namespace
    spec = {"host": f"{name}.{namespace}.svc.cluster.local", "trafficPolicy": {"tls": _tls(istio)}}
    return DESTINATION_RULE.object({"metadata": {"name": name, "namespace": namespace}, "spec": spec})


def _tls(istio: Istio) -> dict[str, Any]:
    """Certificates are for mutual TLS only. Istio takes no authority where nothing is verified: one that is given is asked."""
    tls: dict[str, Any] = {"mode": istio.tls_mode}
    authority = istio.ca_certificates if istio.tls_mode == "MUTUAL" else ""
    if istio.tls_mode == "MUTUAL":
        tls |= {"clientCertificate": istio.client_certificate, "privateKey": istio.private_key}
    if authority:
        tls["caCertificates"] = authority
    elif istio.tls_mode in ("SIMPLE", "MUTUAL"):
        tls["insecureSkipVerify"] = istio.insecure_skip_verify
    return tls
