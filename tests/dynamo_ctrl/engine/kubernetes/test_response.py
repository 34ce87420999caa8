"""The parser of HTTP/1.1 responses: the same result wherever the bytes are cut, and a typed refusal of everything else."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.engine.kubernetes.response import MAX_HEAD, MAX_SIZE_LINE, ProtocolError, ResponseParser


def parse(*pieces: bytes, end: bool = False, limit: int | None = None) -> tuple[ResponseParser, bytes]:
    body: list[bytes] = []
    parser = ResponseParser(body.append)
    parser.limit = limit
    for piece in pieces:
        parser.feed(piece)
    if end:
        parser.end()
    assert all(body)
    return parser, b"".join(body)


def cut(text: bytes, places: list[int]) -> list[bytes]:
    marks = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[a:b] for a, b in pairwise(marks)]


def chunked(chunks: list[bytes], *, extension: bytes = b"", trailers: bytes = b"") -> bytes:
    framed = b"".join(b"%x%s\r\n%s\r\n" % (len(chunk), extension, chunk) for chunk in chunks if chunk)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\n" + trailers + b"\r\n"


@given(chunks=st.lists(st.binary(max_size=40)), places=st.lists(st.integers(0, 10_000)))
def test_a_chunked_body_is_the_same_wherever_it_is_cut(chunks: list[bytes], places: list[int]) -> None:
    text = chunked(chunks, extension=b";x=y", trailers=b"Expires: 0\r\n")
    parser, body = parse(*cut(text, places))
    assert (body, parser.complete, parser.keep_alive) == (b"".join(chunks), True, True)


@given(content=st.binary(max_size=200), places=st.lists(st.integers(0, 10_000)))
def test_a_body_with_a_length_is_the_same_wherever_it_is_cut(content: bytes, places: list[int]) -> None:
    text = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content
    parser, body = parse(*cut(text, places))
    assert (body, parser.complete, parser.keep_alive) == (content, True, True)


def test_every_single_byte_may_come_alone() -> None:
    text = chunked([b"one", b"", b"three"])
    parser, body = parse(*(text[at : at + 1] for at in range(len(text))))
    assert (body, parser.complete) == (b"onethree", True)


def test_a_body_without_framing_ends_with_the_connection() -> None:
    parser, body = parse(b"HTTP/1.1 200 OK\r\n\r\nab", b"c", end=True)
    assert (body, parser.complete, parser.keep_alive) == (b"abc", True, False)


def test_a_response_over_its_limit_is_refused() -> None:
    text = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde"
    assert parse(text, limit=len(text))[1] == b"abcde"
    with pytest.raises(ProtocolError, match="longer than"):
        parse(text[:-2], text[-2:], limit=len(text) - 1)


def test_an_announcement_is_passed_over() -> None:
    parser, body = parse(b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx")
    assert parser.head is not None
    assert (parser.head.status, body) == (404, b"x")


def test_header_names_are_lower_case_and_values_that_repeat_are_kept() -> None:
    parser, _ = parse(b"HTTP/1.1 204 No\r\nWARNING: a\r\nWarning:  b \r\n\r\n")
    assert parser.head is not None
    assert parser.head.headers == {"warning": ("a", "b")}
    assert parser.head.header("warning") == "b"
    assert parser.head.header("absent") == ""


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nConnection: close", b"HTTP/1.0 200 OK\r\nX: y"])
def test_a_connection_that_the_server_will_close_is_not_kept(head: bytes) -> None:
    parser, _ = parse(head + b"\r\nContent-Length: 0\r\n\r\n")
    assert (parser.complete, parser.keep_alive) == (True, False)


def test_a_connection_with_bytes_after_the_answer_is_not_kept() -> None:
    parser, body = parse(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab")
    assert (body, parser.complete, parser.keep_alive) == (b"a", True, False)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"SSH-2.0-x\r\n\r\n", "not an HTTP/1.1 response"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "not an HTTP/1.1 response"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "not a header"),
        (b"HTTP/1.1 200 OK\r\n folded: x\r\n\r\n", "not a header"),
        (b"HTTP/1.1 101 Switching\r\n\r\n", "switches protocols"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", "'gzip', unasked"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "unknown transfer encoding"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "not one number"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "not one number"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "not a chunk size"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n", "not a chunk size"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", "longer than its size line"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * MAX_SIZE_LINE, "size line is too long"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * MAX_HEAD, "exceed"),
    ],
)
def test_what_is_no_response_is_refused_with_a_reason(text: bytes, says: str) -> None:
    with pytest.raises(ProtocolError, match=says):
        parse(text)
    with pytest.raises(ProtocolError, match=says):
        parse(*(text[at : at + 1] for at in range(len(text))))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "before an answer"),
        (b"HTTP/1.1 200 OK\r\n", "before an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "before a complete body"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "before a complete body"),
    ],
)
def test_a_connection_that_ends_too_early_is_told(text: bytes, says: str) -> None:
    with pytest.raises(ProtocolError, match=says):
        parse(text, end=True)
