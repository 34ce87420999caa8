"""Lists: which version is asked for, pages of it, and the tokens between them.

A token names a version and a place in the order of paths, as the server's own do, so nothing is kept for it here: the
state at its version is worked out from history, and a token is too old exactly when history does not reach back to it.
"""

from __future__ import annotations

import base64
import binascii
from itertools import islice

import msgspec

from dynamo_ctrl.engine.errors import Expired
from dynamo_ctrl.engine.memory import failure
from dynamo_ctrl.engine.memory.field_error import FieldError, forbidden_field, quote, unsupported
from dynamo_ctrl.engine.memory.history import Filter
from dynamo_ctrl.engine.memory.table import State, Table
from dynamo_ctrl.engine.port import ListOptions, Page

_FORMAT = "meta.k8s.io/v1"
_ANY = -1
_MATCHES = ("Exact", "NotOlderThan", "")


class _Token(msgspec.Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


def parse_version(text: str, *, what: str = "invalid resource version: ") -> int:
    """The number in a resourceVersion; 0 for none. Raises `BadRequest`."""
    if text and not (text.isascii() and text.isdigit()):
        raise failure.bad_request(
            f"{what}resourceVersion: Invalid value: {quote(text)}: strconv.ParseUint: parsing "
            f"{quote(text)}: invalid syntax"
        )
    return int(text or 0)


def check_options(options: ListOptions) -> None:
    """Refuse combinations that mean nothing. Raises `Invalid` or `BadRequest`."""
    errors: list[FieldError] = []
    field = "resourceVersionMatch"
    if options.match:
        if not options.resource_version:
            errors.append(
                forbidden_field(field, "resourceVersionMatch is forbidden unless resourceVersion is provided")
            )
        if options.continue_token:
            errors.append(forbidden_field(field, "resourceVersionMatch is forbidden when continue is provided"))
        if options.match not in _MATCHES:
            errors.append(unsupported(field, options.match, _MATCHES))
        elif options.match == "Exact" and options.resource_version == "0":
            errors.append(forbidden_field(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if errors:
        raise failure.invalid_options(errors)
    if options.continue_token and options.resource_version not in ("", "0"):
        raise failure.bad_request("specifying resource version is not allowed when using continue")


def list_page(table: Table, wanted: Filter, options: ListOptions, current: int) -> Page:
    """One page. `current` is the server's newest version.

    Raises:
        Expired: history does not reach back to the version; for a token, the error offers another one.
        TooLargeResourceVersion: the version is of the future.
        BadRequest, Invalid: options or token that mean nothing.
    """
    check_options(options)
    prefix = f"{wanted.namespace}/" if wanted.namespace and table.served.namespaced else ""
    if options.continue_token:
        token = _decode(options.continue_token)
        start = prefix + token.start.removeprefix("/")
        version = current if token.rv == _ANY else token.rv
        state = _continued(table, version, token)
    else:
        start, version = "", current
        state = table.now
        asked = parse_version(options.resource_version)
        if asked > current:
            raise failure.version_too_large(asked, current)
        if asked and (options.match == "Exact" or (not options.match and options.limit > 0)):
            version, state = asked, _exact(table, asked)
    limit = 0 if options.resource_version == "0" else max(0, options.limit)
    return _page(state, wanted, prefix, start, limit, version)


def _page(state: State, wanted: Filter, prefix: str, start: str, limit: int, version: int) -> Page:
    plain = not wanted.selects
    matching = state.after(prefix, start) if plain else filter(wanted.matches, state.after(prefix, start))
    if not limit:
        return Page([revision.raw for revision in matching], str(version))
    page = list(islice(matching, limit))
    items = [revision.raw for revision in page]
    following = f"{page[-1].path}\x00" if page else ""
    remaining = state.count(prefix, following) if len(page) == limit else 0
    if not remaining:  # objects that are not selected count: nobody has looked at them yet
        return Page(items, str(version))
    token = _encode(_Token(_FORMAT, version, f"/{following[len(prefix) :]}"))
    return Page(items, str(version), token, remaining if plain else None)


def _continued(table: Table, version: int, token: _Token) -> State:
    try:
        return table.at(version)
    except Expired:
        raise failure.token_expired(_encode(_Token(_FORMAT, _ANY, token.start))) from None


def _exact(table: Table, version: int) -> State:
    try:
        return table.at(version)
    except Expired:
        raise failure.version_expired() from None


def _encode(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).rstrip(b"=").decode()


def _decode(text: str) -> _Token:
    wrong = "invalid continue token: continue key is not valid: "
    try:
        padded = "" if "=" in text else text + "=" * (-len(text) % 4)
        token = msgspec.json.decode(base64.b64decode(padded, altchars=b"-_", validate=True), type=_Token)
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise failure.bad_request(f"{wrong}{error}") from error
    if token.v != _FORMAT:
        raise failure.bad_request(f"{wrong}server does not recognize this encoded version {token.v}")
    if not token.rv:
        raise failure.bad_request(f"{wrong}incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not token.start:
        raise failure.bad_request(f"{wrong}encoded start key empty (version meta.k8s.io/v1)")
    return token
