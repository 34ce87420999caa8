"""G 3.5.1, 3.5.3, 3.5.5, 3.6.8 and D2: what the annotations record, and which generation the workers shall have."""

from __future__ import annotations

import pytest

from dynamo_graph.component.generations import StoredHashes, adopted, candidates, completed, migrated, target_suffix

A, B, H, X, OWN = "aaaaaaaa", "bbbbbbbb", "11111111", "cccccccc", "dddddddd"
NOTHING = StoredHashes()
LEGACY = StoredHashes(v1="legacy")


def target(stored: StoredHashes, desired: str, *there: str) -> str:
    return target_suffix(stored, desired, lambda suffix: suffix in there)


@pytest.mark.parametrize(
    ("stored", "desired", "there", "expected"),
    [
        pytest.param(NOTHING, A, (), A, id="T-HASH-19 nothing stored"),
        pytest.param(StoredHashes(v1=H, v2=A), A, (H,), H, id="T-HASH-20 v1 after its migration"),
        pytest.param(StoredHashes(v1=H), A, (H,), A, id="T-HASH-21 v1 alone while a rollout is under way"),
        pytest.param(StoredHashes(v1=H, v2=A), A, (H,), H, id="T-HASH-22 v1 that serves what is desired"),
        pytest.param(StoredHashes(v1=H, v2=A), B, (H,), B, id="T-HASH-23 v1 that serves something else"),
        pytest.param(StoredHashes(v2=A), A, (A,), A, id="T-HASH-24 v2"),
        pytest.param(LEGACY, A, (), A, id="T-HASH-25 legacy"),
        pytest.param(NOTHING, A, (A,), A, id="T-ROLL-54"),
        pytest.param(StoredHashes(v1=H, v2=A), A, (H,), H, id="T-ROLL-55"),
        pytest.param(StoredHashes(v1=H, v2=A), A, (H, A), A, id="T-ROLL-56"),
        pytest.param(StoredHashes(v1=H), A, (H,), A, id="T-ROLL-57"),
        pytest.param(StoredHashes(v1=H, v2=B), A, (H,), A, id="T-ROLL-58"),
        pytest.param(StoredHashes(v1=H, v2=A), A, (), A, id="a bridge to a generation that is not there"),
        pytest.param(StoredHashes(v2=X, own=A), A, (X,), X, id="an adopted generation"),
        pytest.param(StoredHashes(v1=H, v2=X, own=A), A, (H,), H, id="an adopted generation with an older suffix"),
        pytest.param(StoredHashes(v2=X, own=A), B, (X,), B, id="an adopted generation of other workers"),
        pytest.param(StoredHashes(v1=H, v2=A, own=B), A, (H,), A, id="our own value counts alone, where there is one"),
    ],
)
def test_the_generation_that_the_workers_shall_have(
    stored: StoredHashes, desired: str, there: tuple[str, ...], expected: str
) -> None:
    assert target(stored, desired, *there) == expected


@pytest.mark.parametrize(
    ("stored", "rolling", "expected"),
    [
        pytest.param(StoredHashes(v1=H), False, StoredHashes(v1=H, v2=A), id="T-HASH-20 recorded next to it"),
        pytest.param(StoredHashes(v1=H), True, None, id="T-HASH-21 not during a rollout"),
        pytest.param(LEGACY, False, None, id="T-HASH-25 never for legacy"),
        pytest.param(StoredHashes(v1=H, v2=B), False, None, id="v2 is there"),
        pytest.param(StoredHashes(v2=B), False, None, id="v2 alone"),
        pytest.param(NOTHING, False, None, id="nothing"),
    ],
)
def test_the_suffix_of_an_older_release_gets_a_hash(
    stored: StoredHashes, rolling: bool, expected: StoredHashes | None
) -> None:
    assert migrated(stored, A, rolling=rolling) == expected


@pytest.mark.parametrize(
    ("stored", "only", "expected"),
    [
        pytest.param(StoredHashes(v2=X), X, StoredHashes(v2=X, own=A), id="a foreign v2"),
        pytest.param(StoredHashes(v1=H, v2=X), H, StoredHashes(v1=H, v2=X, own=A), id="a foreign v2 of a bridge"),
        pytest.param(NOTHING, X, StoredHashes(v2=X, own=A), id="annotations that were lost"),
        pytest.param(StoredHashes(v2=X, own=B), X, StoredHashes(v2=X, own=A), id="another way of counting"),
        pytest.param(StoredHashes(v2=X), "", None, id="not the only one, or something changed"),
        pytest.param(StoredHashes(v2=X), B, None, id="not the recorded one"),
        pytest.param(StoredHashes(v2=A), A, None, id="ours"),
        pytest.param(StoredHashes(v2=X, own=A), X, None, id="adopted already"),
        pytest.param(StoredHashes(v1=H, v2=A), H, None, id="a bridge that is known"),
        pytest.param(LEGACY, X, None, id="legacy is replaced"),
    ],
)
def test_a_generation_that_serves_unchanged_workers_is_adopted(
    stored: StoredHashes, only: str, expected: StoredHashes | None
) -> None:
    assert adopted(stored, A, only=only) == expected


@pytest.mark.parametrize(
    ("stored", "suffix", "expected"),
    [
        (NOTHING, A, StoredHashes(v2=A)),
        (StoredHashes(v1=H, v2=B), A, StoredHashes(v2=A)),
        (LEGACY, A, StoredHashes(v2=A)),
        (StoredHashes(v2=X, own=B), A, StoredHashes(v2=A)),
        pytest.param(StoredHashes(v1=H, v2=A), H, StoredHashes(v1=H, v2=A), id="T-ROLL-55 a bridge stays"),
        (StoredHashes(v2=X, own=A), X, StoredHashes(v2=X, own=A)),
    ],
)
def test_what_is_recorded_in_the_end(stored: StoredHashes, suffix: str, expected: StoredHashes) -> None:
    assert completed(stored, A, suffix) == expected


@pytest.mark.parametrize(
    ("stored", "suffix", "expected"),
    [
        (NOTHING, A, (A,)),
        (StoredHashes(v2=A), A, (A,)),
        (StoredHashes(v1=H, v2=A), H, (H, A)),
        (StoredHashes(v1=H, v2=A), A, (A, H)),
        (StoredHashes(v1=H, v2=B), A, (A,)),
        (LEGACY, A, (A,)),
    ],
)
def test_where_a_deployment_is_looked_for(stored: StoredHashes, suffix: str, expected: tuple[str, ...]) -> None:
    assert candidates(stored, A, suffix) == expected


def test_annotations_hold_what_is_recorded_and_nothing_else() -> None:
    both = StoredHashes(v1=H, v2=A)
    assert both.annotations() == {
        "nvidia.com/current-worker-hash": H,
        "nvidia.com/current-worker-hash-v2": A,
        "dynamo-ctrl.io/current-worker-hash": None,
    }
    kept = {key: value for key, value in StoredHashes(v2=X, own=OWN).annotations().items() if value is not None}
    assert StoredHashes.read({**kept, "other": "x"}) == StoredHashes(v2=X, own=OWN)
    assert StoredHashes.read({"nvidia.com/current-worker-hash": ""}).empty


def test_a_sentinel_is_no_suffix() -> None:
    assert LEGACY.suffix == ""
    assert StoredHashes(v1=H, v2=A).suffix == H
    assert StoredHashes(v2=A).suffix == A
