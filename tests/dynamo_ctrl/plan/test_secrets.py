"""No secret gets out of a plan or a trace: not its text, in no encoding."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from urllib.parse import quote

import msgspec

from dynamo_ctrl.objects.builtin.core import SECRET, Secret
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.plan.plan import Action
from dynamo_ctrl.plan.planning import plan
from dynamo_ctrl.plan.text import lines, told
from dynamo_ctrl.program.effect import Create, CreateOnce, Effect, Patch, Sync
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.testing import FakeCache
from dynamo_ctrl.testing.widget import Widget, widget
from tests.dynamo_ctrl.plan.widgets import POLICY, WidgetProgram, child

OLD, NEW = "t0p-s3cret/ünd more", "0ther-s3cret/ünd more"


def encodings(secret: str) -> set[str]:
    raw = secret.encode()
    variants = {secret, quote(secret), raw.hex(), repr(secret)[1:-1], json.dumps(secret)[1:-1], secret[::-1]}
    variants |= {base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode(), base64.b32encode(raw).decode()}
    variants |= {base64.b64encode(base64.b64encode(raw)).decode(), binascii.b2a_uu(raw).decode().strip()}
    return variants | {repr(raw)[2:-1]} | {each.upper() for each in variants}


def shows(text: str, secret: str) -> list[str]:
    return [each for each in encodings(secret) if each in text]


def secret(value: str, **metadata: object) -> Secret:
    data = {"password": base64.b64encode(value.encode()).decode()}
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"data": data, "plain": value})}
    content = {
        "metadata": {"name": "s", "namespace": "ns", "annotations": annotations, **metadata},
        "type": "Opaque",
        "data": data,
    }
    return SECRET.object(content)


def everything(program: WidgetProgram, *objects: Secret) -> str:
    found = plan(program, [widget(), *objects])
    return repr(found) + told(lines(found)) + msgspec.json.encode([repr(write) for write in found.writes]).decode()


def test_the_search_finds_what_it_looks_for() -> None:
    for encoded in encodings(OLD):
        assert shows(f"...{encoded}...", OLD)


def test_a_created_secret_is_shown_by_hashes() -> None:
    program = WidgetProgram(lambda request: [Create(object=secret(NEW))])
    text = everything(program)
    assert "password" in text
    assert "sha256:" in text
    assert shows(text, NEW) == []


def test_a_secret_from_text_is_shown_by_hashes() -> None:
    program = WidgetProgram(lambda request: [Create(object=child(SECRET, "s", stringData={"password": NEW}))])
    text = everything(program)
    assert "sha256:" in text
    assert shows(text, NEW) == []


def test_a_changed_secret_is_shown_by_both_hashes() -> None:
    def effects(request: Request[Widget]) -> list[Effect]:
        return [Sync(child=secret(NEW), policy=POLICY, shared_owner=True)]

    text = everything(WidgetProgram(effects), secret(OLD, uid="s"))
    assert text.count("sha256:") >= 2
    assert shows(text, OLD) == shows(text, NEW) == []


def test_a_generated_secret_is_not_even_made() -> None:
    asked = []

    async def fill() -> Mapping[str, bytes]:
        asked.append(1)
        return {"password": NEW.encode()}

    program = WidgetProgram(lambda request: [CreateOnce(object=child(SECRET, "s", type="Opaque"), fill=fill)])
    (write,) = plan(program, [widget()]).writes
    assert (write.action, str(write.object), write.content) == (Action.CREATE, "Secret ns/s", {})
    assert asked == []
    assert "Secret ns/s will be created with generated content" in told(lines(plan(program, [widget()])))


def test_a_copied_secret_is_not_read_and_its_source_is_believed_to_be_there() -> None:
    """Its source lies in a namespace that a plan need not have looked into."""
    program = WidgetProgram(lambda request: [CreateOnce(object=child(SECRET, "s"), fill=Key("elsewhere", "s"))])
    found = plan(program, [widget()])
    assert [(str(write.object), write.content) for write in found.writes] == [("Secret ns/s", {})]
    assert found.failures == ()
    source = SECRET.object({**secret(OLD).content(), "metadata": {"name": "s", "namespace": "elsewhere"}})
    assert shows(everything(program, source), OLD) == []


def test_a_trace_holds_no_secret() -> None:
    """What `explain` tells comes from traces."""
    values = {"value": OLD}

    def effects(request: Request[Widget]) -> list[Effect]:
        live = request.view.get(SECRET, "ns/s")
        if live is None:
            return [Create(object=secret(OLD))]
        changed = secret(values["value"])
        patch = Change.merge({"data": changed.content()["data"], "metadata": {"annotations": {"note": NEW}}})
        return [Patch(target=live, patch=patch)]

    cache = FakeCache([widget()])
    program = WidgetProgram(effects)
    cache.converge(program)
    values["value"] = NEW
    cache.converge(program)
    history = cache.traces(program, "ns/w")
    text = repr([(trace.lines, trace.status, trace.error) for trace in (*history.notable, history.last)])
    assert "data.password" in text
    assert text.count("sha256:") >= 2
    assert shows(text, OLD) == shows(text, NEW) == []


def test_a_trace_holds_nothing_of_a_generated_secret() -> None:
    async def fill() -> Mapping[str, bytes]:
        return {"password": NEW.encode()}

    program = WidgetProgram(lambda request: [CreateOnce(object=child(SECRET, "s"), fill=fill)])
    cache = FakeCache([widget()])
    cache.converge(program)
    history = cache.traces(program, "ns/w")
    text = repr([(trace.lines, trace.status, trace.error) for trace in (*history.notable, history.last)])
    assert "CreateOnce" in text
    assert shows(text, NEW) == []
