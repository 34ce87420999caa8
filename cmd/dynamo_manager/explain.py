"""`dynamo-manager explain`: asks a running manager why a key last ran, what was written and why, and what it waits for."""

from __future__ import annotations

import http.client
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import msgspec

from dynamo_ctrl.plan.text import Line, Tone
from dynamo_manager import colours
from dynamo_manager.cli import ExplainOptions
from dynamo_manager.errors import UsageError

TIMEOUT: Final = 10.0
"""Seconds for the manager's answer."""

PATHS: Final = 4
"""How many of the paths that changed are named; `--output json` has all."""

Document = Mapping[str, Any]

_TONES: Final = {
    "created": Tone.ADDED, "updated": Tone.CHANGED, "deleted": Tone.REMOVED, "failed": Tone.WRONG, "unchanged": Tone.PLAIN,
}  # fmt: skip


def explain(options: ExplainOptions) -> int:
    """Print the explanation. Returns 0, or 1 if the manager knows neither the object nor the key.

    Raises:
        UsageError: the manager cannot be asked, or does not answer such questions.
    """
    answer = _asked(options)
    document = _document(answer)
    if options.output == "json":
        sys.stdout.write(answer.decode())
    else:
        colours.write(lines(document), sys.stdout, os.environ)
    known = document["object"] is not None or any(each["last_run"] is not None for each in document["controllers"])
    return 0 if known else 1


def _asked(options: ExplainOptions) -> bytes:
    address = urlsplit(options.address)
    query = urlencode({"kind": options.kind, "key": options.key})
    connection = http.client.HTTPConnection(address.hostname or "", address.port or 80, timeout=TIMEOUT)
    try:
        connection.request("GET", f"/debug/explain?{query}")
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise UsageError(
            f"--address: no manager answers at {options.address}: {error}; "
            "run it with --health-bind-address, or forward its port"
        ) from error
    finally:
        connection.close()
    if answer.status != http.HTTPStatus.OK:
        if (
            answer.headers.get_content_type() != "text/plain"
        ):  # as which the manager says everything that is no document
            raise _stranger()
        raise UsageError(f"{options.address} answers {answer.status}: {body.decode(errors='replace').strip()}")
    return body


def _document(answer: bytes) -> Document:
    """What the manager says of a key, which has the parts that every such document has."""
    try:
        document: Any = msgspec.json.decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _stranger() from None
    if not isinstance(document, Mapping) or not {"kind", "key", "object", "controllers"} <= document.keys():
        raise _stranger()
    return document


def _stranger() -> UsageError:
    return UsageError("--address: what answers there is no dynamo-manager")


def lines(document: Document) -> Iterator[Line]:
    """The explanation for people."""
    yield from _subject(document)
    for controller in document["controllers"]:
        yield Line(Tone.PLAIN, "")
        yield from _controller(controller)
    unready = [*_unready(document["children"], 1)]
    if unready:
        yield Line(Tone.PLAIN, "")
        yield Line(Tone.HEADING, "What it owns and is not ready:")
        yield from unready


def _subject(document: Document) -> Iterator[Line]:
    name, obj = f"{document['kind']} {document['key']}", document["object"]
    yield Line(Tone.HEADING, name)
    if document["unreadable"]:
        yield Line(Tone.WRONG, f"  cannot be read: {document['unreadable']}")
    elif obj is None:
        yield Line(Tone.WRONG, "  is not there")
    else:
        yield Line(_tone(obj), f"  generation {obj['generation']}, {_readiness(obj)}")


def _controller(controller: Document) -> Iterator[Line]:
    yield Line(Tone.HEADING, f"Controller {controller['name']}")
    for kind, reason in controller["not_ready"].items():
        yield Line(Tone.WRONG, f"  does not work: {kind}: {reason}")
    others = {kind: source for kind, source in controller["sources"].items() if kind not in controller["not_ready"]}
    for kind, source in others.items():
        if source["state"] not in ("live", "absent"):
            yield Line(Tone.CHANGED, f"  source {kind} is {source['state']}: {source['reason']}")
    if absent := [kind for kind, source in others.items() if source["state"] == "absent"]:
        yield Line(Tone.PLAIN, f"  works without what the cluster does not serve: {', '.join(absent)}")
    yield from _last_run(controller["last_run"])
    attempt = controller["last_attempt"]
    if attempt is not None:
        yield from _attempt(attempt)
    yield from _next_run(controller["next_run"])
    earlier = [each for each in controller["notable_attempts"] if attempt is None or each["at"] != attempt["at"]]
    for each in reversed(earlier):
        yield Line(Tone.PLAIN, f"  earlier, {_ago(each['ago'])}:")
        yield from _attempt(each, notable=True)


def _last_run(run: Document | None) -> Iterator[Line]:
    if run is None:
        yield Line(Tone.PLAIN, "  has not run lately")
        return
    tone = Tone.WRONG if run["error"] else Tone.PLAIN
    error = f": {run['error']}" if run["error"] else ""
    took = f"{run['took'] * 1000:.1f} ms"
    yield Line(tone, f"  last run {run['id']}, {_ago(run['ago'])}, took {took}: {run['outcome']}{error}")
    for cause in run["causes"]:
        paths = cause["paths"]
        changed = f": {_shortened(paths)}" if paths is not None else ""
        yield Line(Tone.PLAIN, f"    because of {cause['text']}{changed}")


def _attempt(attempt: Document, *, notable: bool = False) -> Iterator[Line]:
    for effect in attempt["effects"]:
        if not (notable and effect["did"] == "unchanged"):
            yield from _effect(effect)
    for told in attempt["status"]:
        yield Line(Tone.CHANGED, f"    status written: {_difference(told)}")
    if attempt["conflict"]:
        yield Line(Tone.CHANGED, f"    conflict: {attempt['error']}")
    if not attempt["effects"] and not attempt["status"] and not notable:
        yield Line(Tone.PLAIN, "    nothing to do")


def _effect(effect: Document) -> Iterator[Line]:
    what = effect["object"] or ""
    reason = f" [{effect['reason']}]" if effect["reason"] else ""
    message = f": {effect['message']}" if effect["message"] else ""
    edited = " (it was edited by hand)" if effect["edited"] else ""
    text = f"{effect['did']} {effect['effect']} {what}".rstrip()
    yield Line(_TONES[effect["did"]], f"    step {effect['step']}: {text}{edited}{reason}{message}")
    for told in effect["differences"]:
        yield Line(Tone.CHANGED, f"      {_difference(told)}")
    if effect["more"]:
        yield Line(Tone.PLAIN, f"      and {effect['more']} more")


def _next_run(run: Document) -> Iterator[Line]:
    failures = f", after {run['failures']} failures" if run["failures"] else ""
    match run["state"]:
        case "running":
            text = f"runs now, since {run['running_for']:.1f} s"
            causes = run["then"] or ()
        case "queued":
            text, causes = "will run at once", run["causes"]
        case "waiting":
            text, causes = f"will run again in {run['in']:.1f} s{failures}", run["causes"]
        case _:
            text, causes = "will run again when something changes", ()
    because = f" (because of {'; '.join(cause['text'] for cause in causes)})" if causes else ""
    yield Line(Tone.PLAIN, f"  {text}{because}")
    if run["back_off"] is not None and run["state"] != "waiting":
        yield Line(Tone.PLAIN, f"  backs off for {run['back_off']:.1f} s more{failures}")


def _unready(children: Sequence[Document], depth: int) -> Iterator[Line]:
    for child in children:
        below = [*_unready(child["children"], depth + 1)]
        if child["ready"] is False or below:
            yield Line(_tone(child), f"{'  ' * depth}{child['kind']} {child['key']}: {_readiness(child)}")
            yield from below


def _tone(obj: Document) -> Tone:
    return {True: Tone.ADDED, False: Tone.CHANGED, None: Tone.PLAIN}[obj["ready"]]


def _readiness(obj: Document) -> str:
    word = {True: "ready", False: "not ready", None: "not known"}[obj["ready"]]
    return f"{word}: {obj['text']}" if obj["text"] else word


def _shortened(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - PATHS} more" if len(paths) > PATHS else ""
    return f"{', '.join(paths[:PATHS])}{more}" if paths else "nothing but the version"


def _difference(told: Document) -> str:
    old, new = told["old"], told["new"]
    if old is None:
        return f"{told['path']}: {new} is new"
    return f"{told['path']}: {old} is gone" if new is None else f"{told['path']}: {old} -> {new}"


def _ago(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s ago"
    return f"{seconds / 60:.0f} min ago" if seconds < 7200 else f"{seconds / 3600:.1f} h ago"
