"""Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and CronJobs: defaults and rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from dynamo_ctrl.engine.memory import names
from dynamo_ctrl.engine.memory.field_error import FieldError, forbidden_field, invalid_value, required, unsupported
from dynamo_ctrl.engine.memory.kinds.filling import drop_empty, fill, section
from dynamo_ctrl.engine.memory.kinds.pods import default_pod_spec, pod_spec_errors
from dynamo_ctrl.engine.memory.served import Strategy, Tree
from dynamo_ctrl.objects.selector import InvalidSelector, LabelSelector

_IMMUTABLE: Final = "field is immutable"
_PERCENT: Final = re.compile(r"[0-9]+%")
_PERCENT_RULE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_STRATEGIES: Final = ("Recreate", "RollingUpdate")
_JOB_RESTARTS: Final = ("OnFailure", "Never")
_JOB_LABELS: Final = ("batch.kubernetes.io/controller-uid", "controller-uid")
_JOB_NAMES: Final = ("batch.kubernetes.io/job-name", "job-name")


def _template(spec: Tree) -> Tree:
    template = section(spec, "template")
    metadata = section(template, "metadata")
    drop_empty(metadata, "labels", "annotations")
    default_pod_spec(section(template, "spec"))
    return template


def _deployment(tree: Tree) -> None:
    spec = section(tree, "spec")
    fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = section(spec, "strategy")
    fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        fill(section(strategy, "rollingUpdate"), maxUnavailable="25%", maxSurge="25%")
    _template(spec)
    section(tree, "status")


def _keep_labels(new: Tree, old: Tree) -> None:
    new["metadata"].pop("labels", None)
    if "labels" in old["metadata"]:
        new["metadata"]["labels"] = old["metadata"]["labels"]


def _replica_set(tree: Tree) -> None:
    spec = section(tree, "spec")
    fill(spec, replicas=1)
    _template(spec)
    fill(section(tree, "status"), replicas=0)


def _stateful_set(tree: Tree) -> None:
    spec = section(tree, "spec")
    fill(spec, replicas=1, revisionHistoryLimit=10, podManagementPolicy="OrderedReady")
    strategy = section(spec, "updateStrategy")
    fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        fill(section(strategy, "rollingUpdate"), partition=0, maxUnavailable=1)
    fill(section(spec, "persistentVolumeClaimRetentionPolicy"), whenDeleted="Retain", whenScaled="Retain")
    _template(spec)
    fill(section(tree, "status"), replicas=0, availableReplicas=0)


def _daemon_set(tree: Tree) -> None:
    spec = section(tree, "spec")
    fill(spec, revisionHistoryLimit=10)
    strategy = section(spec, "updateStrategy")
    fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        fill(section(strategy, "rollingUpdate"), maxUnavailable=1, maxSurge=0)
    _template(spec)
    fill(
        section(tree, "status"),
        currentNumberScheduled=0,
        numberMisscheduled=0,
        desiredNumberScheduled=0,
        numberReady=0,
    )


def _job_spec(spec: Tree) -> None:
    fill(
        spec,
        parallelism=1,
        completions=1,
        backoffLimit=6,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy="TerminatingOrFailed",
        manualSelector=False,
    )
    _template(spec)


def _job(tree: Tree) -> None:
    _job_spec(section(tree, "spec"))
    section(tree, "status")


def _new_job(tree: Tree) -> None:
    uid, name, spec = tree["metadata"]["uid"], tree["metadata"].get("name", ""), tree["spec"]
    if spec["manualSelector"]:
        return
    added = dict.fromkeys(_JOB_LABELS, uid) | dict.fromkeys(_JOB_NAMES, name)
    for metadata in (tree["metadata"], spec["template"]["metadata"]):
        metadata["labels"] = {**added, **(metadata.get("labels") or {})}
    fill(spec, selector={"matchLabels": {_JOB_LABELS[0]: uid}})


def _cron_job(tree: Tree) -> None:
    spec = section(tree, "spec")
    fill(spec, concurrencyPolicy="Allow", suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    job = section(spec, "jobTemplate")
    section(job, "metadata")
    _template(section(job, "spec"))
    section(tree, "status")


def _count_errors(spec: Tree) -> Iterator[FieldError]:
    replicas = spec.get("replicas", 0)
    if isinstance(replicas, int) and replicas < 0:
        yield invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")


def _selector_errors(spec: Tree) -> Iterator[FieldError]:
    selector, labels = spec.get("selector"), spec["template"]["metadata"].get("labels")
    if selector is None:
        yield required("spec.selector")
        yield invalid_value("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
        return
    yield from names.label_errors(selector.get("matchLabels") or {}, "spec.selector.matchLabels")
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        key = expression.setdefault("key", "")
        for fault in names.qualified_faults(key):
            yield invalid_value(f"spec.selector.matchExpressions[{index}].key", key, fault)
    try:
        matches = LabelSelector.from_object(selector).matches(labels or {})
    except InvalidSelector:
        matches = False
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield invalid_value("spec.selector", selector, "empty selector is invalid for deployment")
    if not matches:
        yield invalid_value("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")


def _strategy_errors(spec: Tree) -> Iterator[FieldError]:
    strategy, at = spec["strategy"], "spec.strategy.rollingUpdate"
    if strategy["type"] not in _STRATEGIES:
        yield unsupported("spec.strategy", {"Type": strategy["type"], "RollingUpdate": None}, _STRATEGIES)
    elif strategy["type"] == "Recreate":
        if strategy.get("rollingUpdate") is not None:
            yield forbidden_field(at, "may not be specified when strategy `type` is 'Recreate'")
    else:
        unavailable, surge = (strategy["rollingUpdate"][name] for name in ("maxUnavailable", "maxSurge"))
        yield from _share_errors(f"{at}.maxUnavailable", unavailable)
        yield from _share_errors(f"{at}.maxSurge", surge)
        if _share(unavailable) == _share(surge) == 0:
            yield invalid_value(f"{at}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
        if isinstance(unavailable, str) and _share(unavailable) > 100:
            yield invalid_value(f"{at}.maxUnavailable", unavailable, "must not be greater than 100%")


def _share_errors(path: str, value: Any) -> Iterator[FieldError]:
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            yield invalid_value(path, value, _PERCENT_RULE)
    elif value < 0:
        yield invalid_value(path, value, "must be greater than or equal to 0")


def _share(value: Any) -> int:
    if isinstance(value, str):
        return int(value[:-1]) if _PERCENT.fullmatch(value) else 0
    return int(value)


def _workload_rules(
    restart: tuple[str, ...], more: Callable[[Tree], Iterator[FieldError]] | None = None
) -> Callable[[Tree, Tree | None], list[FieldError]]:
    def validate(new: Tree, old: Tree | None) -> list[FieldError]:
        spec = new["spec"]
        errors = [*_count_errors(spec), *_selector_errors(spec)]
        errors += names.label_errors(spec["template"]["metadata"].get("labels") or {}, "spec.template.labels")
        errors += pod_spec_errors(spec["template"]["spec"], "spec.template.spec", restart=restart)
        errors += more(spec) if more is not None else ()
        if old is not None and spec.get("selector") != old["spec"].get("selector"):
            errors.append(invalid_value("spec.selector", spec.get("selector"), _IMMUTABLE))
        return errors

    return validate


_ALWAYS: Final = _workload_rules(("Always",))

DEPLOYMENT: Final = Strategy(
    admit=_deployment, update_status=_keep_labels, validate=_workload_rules(("Always",), _strategy_errors)
)
REPLICA_SET: Final = Strategy(admit=_replica_set, validate=_ALWAYS)
STATEFUL_SET: Final = Strategy(admit=_stateful_set, validate=_ALWAYS)
DAEMON_SET: Final = Strategy(admit=_daemon_set, validate=_ALWAYS)
JOB: Final = Strategy(admit=_job, create=_new_job, validate=_workload_rules(_JOB_RESTARTS))
CRON_JOB: Final = Strategy(admit=_cron_job)
