"""Lines out of a stream: independent of where it was cut, bounded, and never quadratic."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.engine.kubernetes.lines import LineSplitter, LineTooLong


def split(pieces: list[bytes], limit: int = 1 << 20) -> list[bytes]:
    lines: list[bytes] = []
    splitter = LineSplitter(lines.append, limit)
    for piece in pieces:
        splitter.feed(piece)
    splitter.end()
    return lines


@given(text=st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r"]), max_size=60), places=st.lists(st.integers(0, 200)))
def test_lines_do_not_depend_on_the_cuts(text: list[bytes], places: list[int]) -> None:
    whole = b"".join(text)
    marks = sorted({0, len(whole), *(place % (len(whole) + 1) for place in places)})
    pieces = [whole[a:b] for a, b in pairwise(marks)]
    assert split(pieces) == [line for line in whole.split(b"\n") if line]


@pytest.mark.parametrize("pieces", [[b"12345\n"], [b"123", b"45\n"], [b"1", b"2", b"3", b"4", b"5"], [b"12345"]])
def test_a_line_over_the_limit_is_refused_however_it_comes(pieces: list[bytes]) -> None:
    assert split(pieces, limit=5) == [b"12345"]
    with pytest.raises(LineTooLong, match="longer than 4 bytes"):
        split(pieces, limit=4)


def test_a_long_line_costs_its_length_and_not_its_square() -> None:
    def cost(pieces: int) -> float:
        start = time.process_time()
        split([b"x" * 100] * pieces, limit=1 << 30)
        return time.process_time() - start

    cost(1000)
    small = min(cost(5_000) for _ in range(3))
    large = min(cost(40_000) for _ in range(3))
    assert large < 40 * max(small, 1e-4)  # 8 times the pieces; a rescan from the start would make it 64 times the work
