"""`dynamo-manager plan`: what the installed programs would do about some manifests, in an empty cluster or in a real one.

They do it on a scratch cluster in the process. A real cluster is only read.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.clock import SystemClock
from dynamo_ctrl.engine.registry import EngineConfig, open_engine
from dynamo_ctrl.objects.frozen import EMPTY, freeze, thaw
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.plan import document, text
from dynamo_ctrl.plan.plan import Action, Plan, PlannedWrite
from dynamo_ctrl.plan.planning import Bounds, applied, plan_on, prepare
from dynamo_ctrl.plan.scratch import Scratch
from dynamo_ctrl.plan.seed import Seed
from dynamo_ctrl.program.registry import Loaded
from dynamo_manager import colours, install
from dynamo_manager.apply import Applier, untyped
from dynamo_manager.cli import PlanOptions
from dynamo_manager.contact import contact
from dynamo_manager.crds import Remedy
from dynamo_manager.errors import UsageError
from dynamo_manager.manifests import Manifest, load
from dynamo_manager.settings import NAME, configuration

DEFAULT_NAMESPACE = "default"
"""Of documents that name none, unless the command line does."""

ENGINE = "kubernetes"
"""What reads the real cluster."""

_OF_THE_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")


async def plan(options: PlanOptions) -> int:
    """Print the plan. Returns 0, or 1 if the programs refuse or fail, or never come to rest.

    Raises:
        UsageError, and the typed errors of engines and programs: bad input, a manifest that a schema refuses among it.
    """
    config = configuration(options.config) if options.config is not None else EMPTY
    programs = install.programs(options.programs, config)
    manifests = [_own(manifest) for manifest in load(options.files)]
    given, found = await _planned(options, programs, manifests)
    if options.output == "json":
        told = {"applied": [document.written(write) for write in given], **document.document(found)}
        sys.stdout.write(f"{msgspec.json.format(msgspec.json.encode(told)).decode()}\n")
    else:
        colours.write(_lines(given, found, brief=options.brief), sys.stdout, os.environ)
    return 0 if found.settled and not found.failures else 1


async def _planned(
    options: PlanOptions, programs: tuple[Loaded, ...], manifests: Sequence[Manifest]
) -> tuple[tuple[PlannedWrite, ...], Plan]:
    members = [loaded.program for loaded in programs]
    watches = [member.watches for member in members]
    namespace = options.namespace or DEFAULT_NAMESPACE
    namespaces = {namespace} if options.namespace else set()
    namespaces |= {manifest.key(namespace).namespace for manifest in manifests}
    remedy = Remedy(programs)
    scratch = Scratch(now=SystemClock().now() if options.live else None)
    prepare(scratch, members)
    kinds: dict[tuple[str, str], Kind[Any]] = {
        (watch.kind.api_version, watch.kind.kind): watch.kind for one in watches for watch in one.all
    }
    if options.live:
        async with _seed(options, scratch, sorted(namespaces)) as seed:
            await seed.copy(watches)
            for manifest in manifests:
                await _copy(seed, scratch, manifest, kinds, namespace)
    else:
        for name in namespaces:
            scratch.namespace(name)
    since = scratch.core.version
    applier = Applier(scratch.engine, namespace=namespace, known=kinds.values(), sleep=asyncio.sleep, remedy=remedy)
    objects = await applier.apply(manifests)
    given = applied(scratch, since, objects)
    return given, await plan_on(scratch, members, Bounds(passes=options.passes, horizon=options.horizon))


@asynccontextmanager
async def _seed(options: PlanOptions, scratch: Scratch, namespaces: Sequence[str]) -> AsyncIterator[Seed]:
    """Copies from the real cluster; what forbids it is bad input."""
    config = EngineConfig(kubeconfig=options.kubeconfig, context=options.context or "", user_agent=f"{NAME}-plan")
    async with open_engine(ENGINE, config) as engine:
        await contact(engine)
        try:
            yield Seed(engine, scratch, namespaces)
        except SourceUnavailable as error:
            raise UsageError(str(error)) from error


async def _copy(
    seed: Seed, scratch: Scratch, manifest: Manifest, kinds: dict[tuple[str, str], Kind[Any]], namespace: str
) -> None:
    """The object of a manifest as it is now, also if no program looks at its kind."""
    named = (manifest.api_version, manifest.kind)
    if named not in kinds:
        group, _, version = manifest.api_version.rpartition("/")
        resource = await seed.resource(group, version, manifest.kind)
        if resource is None:
            return
        kinds[named] = untyped(resource)
    kind = kinds[named]
    scratch.serve([kind])
    await seed.copy_object(kind, manifest.key(namespace if kind.namespaced else ""))


def _own(manifest: Manifest) -> Manifest:
    """The manifest without what only a server says: it is compared with a copy, whose versions are others."""
    content = thaw(manifest.content)
    for name in _OF_THE_SERVER:
        content["metadata"].pop(name, None)
    return Manifest(manifest.source, freeze(content))


def _lines(given: Sequence[PlannedWrite], found: Plan, *, brief: bool) -> Iterator[text.Line]:
    if given:
        yield text.Line(text.Tone.HEADING, "You apply:")
        for write in given:
            yield from text.written(write, brief=brief or write.action is Action.CREATE)
        yield text.Line(text.Tone.PLAIN, "")
        yield text.Line(text.Tone.HEADING, "Then the programs write:")
    yield from text.lines(found, brief=brief)
