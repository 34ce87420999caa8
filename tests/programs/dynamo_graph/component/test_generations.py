"""G 3.5.3-3.5.5 as far as no rollout is needed: which suffix the workers carry, and what is stored first."""

from __future__ import annotations

import pytest

from dynamo_graph.component.generations import Generation, StoredHashes, inherited_suffix, serving

DESIRED = "dddddddd"
OLD = "aaaaaaaa"
V1 = "11111111"


def suffix(stored: StoredHashes, *names: str, workers: tuple[str, ...] = ("decode",)) -> Generation:
    return serving(stored, DESIRED, graph="g", workers=workers, names=names)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        pytest.param(
            StoredHashes(), Generation(suffix=DESIRED, store=StoredHashes(v2=DESIRED)), id="nothing: the desired hash"
        ),
        pytest.param(StoredHashes(v2=DESIRED), Generation(suffix=DESIRED), id="v2 that is desired"),
        pytest.param(StoredHashes(v2=OLD), Generation(suffix=OLD), id="v2 of an older spec: changed in place"),
        pytest.param(
            StoredHashes(v1=V1),
            Generation(suffix=V1, store=StoredHashes(v1=V1, v2=DESIRED), migration=True),
            id="v1 alone: the hash is recorded next to it",
        ),
        pytest.param(StoredHashes(v1=V1, v2=DESIRED), Generation(suffix=V1), id="v1 and v2"),
        pytest.param(StoredHashes(v1=V1, v2=OLD), Generation(suffix=V1), id="v1 and v2 of an older spec"),
        pytest.param(StoredHashes(v1="legacy"), Generation(suffix=DESIRED), id="legacy is no suffix and stays stored"),
    ],
)
def test_the_stored_suffix_stays(stored: StoredHashes, expected: Generation) -> None:
    assert suffix(stored) == expected


def test_lost_annotations_are_read_from_the_names_of_the_deployments() -> None:
    found = suffix(StoredHashes(), f"g-decode-{OLD}", "g-frontend")
    assert found == Generation(suffix=OLD, store=StoredHashes(v2=OLD))


def test_a_graph_without_workers_stores_nothing() -> None:
    assert suffix(StoredHashes(), workers=()).store is None


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), ""),
        ((f"g-decode-{OLD}",), OLD),
        ((f"g-decode-{OLD}", f"g-prefill-{OLD}"), OLD),
        ((f"g-decode-{OLD}", f"g-prefill-{V1}"), ""),
        (("g-decode",), ""),
        (("g-decode-frontend",), ""),
        (("g-decode-extra-long",), ""),
        ((f"other-decode-{OLD}",), ""),
    ],
)
def test_one_suffix_is_inherited_and_two_are_not(names: tuple[str, ...], expected: str) -> None:
    assert inherited_suffix("g", ("Decode", "prefill"), names) == expected


def test_annotations_hold_what_is_set() -> None:
    both = StoredHashes(v1=V1, v2=OLD)
    assert both.annotations == {"nvidia.com/current-worker-hash": V1, "nvidia.com/current-worker-hash-v2": OLD}
    assert StoredHashes.read(both.annotations) == both
    assert StoredHashes(v2=OLD).annotations == {"nvidia.com/current-worker-hash-v2": OLD}
