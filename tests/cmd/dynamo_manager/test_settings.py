"""Flags win over the file, the file over the defaults; a bad field is named with its rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dynamo_ctrl.manager.errors import InvalidOption
from dynamo_manager.cli import RunOptions
from dynamo_manager.errors import UsageError
from dynamo_manager.settings import NAME, Settings, settle

Write = Callable[..., Path]

FILE = """
server:
  metrics: {bindAddress: 127.0.0.1, port: 9000, secure: false}
  healthProbe: {port: 9001}
logging: {level: debug, format: text}
namespace: {restricted: mine}
"""


@pytest.fixture
def settled(write: Write) -> Callable[..., Settings]:
    """Settles a configuration file and flags."""

    def settled(text: str | None = None, **flags: Any) -> Settings:
        path = write("config.yaml", text) if text is not None else None
        return settle(RunOptions(config=path, **flags))

    return settled


def test_the_defaults_listen_nowhere_and_speak_text(settled: Callable[..., Settings]) -> None:
    found = settled()
    assert (found.manager.metrics_address, found.manager.health_address) == ("", "")
    assert (found.log_format, found.log_level) == ("text", "info")
    assert (found.manager.name, found.manager.cache.namespaces, found.document) == (NAME, (), {})


def test_the_file_wins_over_the_defaults(settled: Callable[..., Settings]) -> None:
    found = settled(FILE)
    assert found.manager.metrics_address == "127.0.0.1:9000"
    assert found.manager.health_address == "0.0.0.0:9001"
    assert (found.log_format, found.log_level) == ("text", "debug")
    assert found.manager.cache.namespaces == ("mine",)
    assert found.document["server"]["healthProbe"]["port"] == 9001


@pytest.mark.parametrize("debug", [False, True])
def test_debug_pages_are_asked_for_by_flag(settled: Callable[..., Settings], debug: bool) -> None:
    assert settled(FILE, debug=debug).manager.debug is debug


def test_flags_win_over_the_file(settled: Callable[..., Settings]) -> None:
    found = settled(
        FILE, metrics_bind_address=":1", health_bind_address="0", log_format="json", log_level="error",
        namespaces=("a", "b"), workers=7,
    )  # fmt: skip
    assert (found.manager.metrics_address, found.manager.health_address) == (":1", "0")
    assert (found.log_format, found.log_level) == ("json", "error")
    assert found.manager.cache.namespaces == ("a", "b")
    assert found.manager.controller.workers == 7


@pytest.mark.parametrize(
    ("text", "metrics", "health", "log_format"),
    [
        ("{kind: X}", "", "", "json"),
        ("server: {}", "", "", "json"),
        ("server: {healthProbe: {}}", "", "0.0.0.0:8081", "json"),
        ("server: {metrics: {secure: false}}", "0.0.0.0:8080", "", "json"),
        ("server: {metrics: {port: 0}, healthProbe: {port: 0}}", "0", "0", "json"),
        ("server: {healthProbe: {bindAddress: '::1'}}", "", "[::1]:8081", "json"),
        ("server:\nlogging:\nnamespace:", "", "", "json"),
    ],
)
def test_a_section_that_is_there_brings_the_operator_s_own_defaults(
    settled: Callable[..., Settings], text: str, metrics: str, health: str, log_format: str
) -> None:
    found = settled(text)
    assert (found.manager.metrics_address, found.manager.health_address) == (metrics, health)
    assert found.log_format == log_format


@pytest.mark.parametrize(
    ("text", "field", "rule"),
    [
        ("- 1", "config.yaml", "must be one YAML mapping"),
        ("a: 1\n---\nb: 1", "config.yaml", "must be one YAML mapping"),
        ("", "config.yaml", "must be one YAML mapping"),
        ("server: 5", "server", "must be a mapping"),
        ("server: {metrics: [1]}", "server.metrics", "must be a mapping"),
        ("server: {healthProbe: {port: 70000}}", "server.healthProbe.port", "between 0 and 65535"),
        ("server: {healthProbe: {port: '80'}}", "server.healthProbe.port", "between 0 and 65535"),
        ("server: {healthProbe: {port: true}}", "server.healthProbe.port", "between 0 and 65535"),
        ("server: {healthProbe: {bindAddress: 5}}", "server.healthProbe.bindAddress", "must be a text"),
        ("server: {metrics: {}}", "server.metrics.secure", "TLS is not supported yet"),
        ("server: {metrics: {secure: 1}}", "server.metrics.secure", "must be one of true, false"),
        ("logging: {level: loud}", "logging.level", "must be one of debug, info, warning, error"),
        ("logging: {format: 1}", "logging.format", "must be one of text, json"),
        ("namespace: {restricted: 7}", "namespace.restricted", "must be a text"),
        ("leaderElection: {enabled: true}", "leaderElection.id", "must be given when leader election is enabled"),
        ("leaderElection: {enabled: true, id: 5}", "leaderElection.id", "must be a text"),
        ("leaderElection: {enabled: maybe}", "leaderElection.enabled", "must be one of true, false"),
    ],
)
def test_a_bad_field_is_named_with_its_rule(settled: Callable[..., Settings], text: str, field: str, rule: str) -> None:
    with pytest.raises(UsageError) as raised:
        settled(text)
    assert f"{field}: " in str(raised.value)
    assert rule in str(raised.value)


@pytest.mark.parametrize(
    ("text", "flags", "enabled", "name", "namespace"),
    [
        (None, {}, False, NAME, ""),
        (None, {"leader_elect": True}, True, NAME, ""),
        (None, {"leader_elect": True, "leader_elect_id": "i", "leader_elect_namespace": "n"}, True, "i", "n"),
        ("leaderElection: {enabled: true, id: doc, namespace: here}", {}, True, "doc", "here"),
        ("leaderElection: {enabled: true, id: doc}", {"leader_elect": False}, False, "doc", ""),
        ("leaderElection: {enabled: true, id: doc}", {"leader_elect_id": "flag"}, True, "flag", ""),
        ("leaderElection: {enabled: true}", {"leader_elect_id": "flag"}, True, "flag", ""),
    ],
)
def test_leader_election_is_settled_from_flags_and_file(
    settled: Callable[..., Settings], text: str | None, flags: dict[str, Any], enabled: bool, name: str, namespace: str
) -> None:
    election = settled(text, **flags).manager.leader_election
    assert (election.enabled, election.name, election.namespace) == (enabled, name, namespace)
    assert election.renewal == "thread"


def test_the_memory_engine_renews_on_the_managers_loop(settled: Callable[..., Settings]) -> None:
    assert settled(engine="memory", leader_elect=True).manager.leader_election.renewal == "loop"


def test_a_flag_makes_the_file_s_field_unread(settled: Callable[..., Settings]) -> None:
    assert settled("server: {metrics: {secure: true}}", metrics_bind_address=":1").manager.metrics_address == ":1"


def test_what_the_manager_refuses_is_named(settled: Callable[..., Settings]) -> None:
    with pytest.raises(InvalidOption, match="workers: must be at least 1"):
        settled(workers=0)
