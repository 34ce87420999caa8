"""Server warnings: each once, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import structlog

from dynamo_ctrl.engine.kubernetes.notices import Notices, texts
from dynamo_ctrl.engine.port import ListOptions
from dynamo_ctrl.objects.builtin.core import POD
from dynamo_ctrl.objects.key import Key

if TYPE_CHECKING:
    from tests.dynamo_ctrl.engine.kubernetes.conftest import Kit


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ('299 - "old API"', ["old API"]),
        ('299 - "a", 299 k8s "b, c"', ["a", "b, c"]),
        ('299 - "say \\"hi\\" \\\\ bye" "Tue, 15 Nov 1994 08:12:31 GMT"', ['say "hi" \\ bye']),
        ('199 - "miscellaneous"', []),
        ("299 - no quotes", []),
        ("", []),
    ],
)
def test_the_texts_of_warnings_are_read(value: str, found: list[str]) -> None:
    assert list(texts([value])) == found


def told(notices: Notices, *values: str) -> list[str]:
    with structlog.testing.capture_logs() as logs:
        for value in values:
            notices.hear([f'299 - "{value}"'])
    return [entry["warning"] for entry in logs]


def test_a_warning_is_told_once() -> None:
    notices = Notices()
    assert told(notices, "a", "b", "a", "b") == ["a", "b"]
    assert told(notices, "b", "c") == ["c"]


def test_memory_is_bounded_and_forgets_what_was_not_heard_for_longest() -> None:
    notices = Notices(limit=2)
    assert told(notices, "a", "b", "a", "c", "a", "b") == ["a", "b", "c", "b"]


def test_warnings_are_heard_from_every_answer(kit: Kit) -> None:
    async def main() -> None:
        headers = [("Warning", '299 - "policy/v1beta1 is deprecated"'), ("Warning", '299 - "and more"')]
        body = kit.reply({"items": [], "metadata": {}}, headers=headers)
        async with kit.serve(kit.answers(body)) as server:
            for verb in ("get", "list"):
                async with kit.connected(server.address) as engine:
                    with structlog.testing.capture_logs() as logs:
                        for _ in range(2):
                            if verb == "get":
                                await engine.get(POD, Key("n", "p"))
                            else:
                                await engine.list(POD, ListOptions())
                    assert [entry["warning"] for entry in logs] == ["policy/v1beta1 is deprecated", "and more"]

    kit.run(main())
