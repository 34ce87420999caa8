"""The simulated data plane and the real controllers tell the same stories."""

from __future__ import annotations

import pytest

from envtest import Cluster
from envtest.scenarios.catalogue import STORIES, Story
from envtest.scenarios.managed import managed
from envtest.scenarios.observed import out_of_bounds, reasons
from envtest.scenarios.real import told_by
from envtest.scenarios.simulated import simulated

stories = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)


@stories
def test_a_simulated_story_keeps_the_bounds_and_ends_complete(story: Story) -> None:
    told = simulated(story)
    if story.bounds is not None:
        assert out_of_bounds(told, *story.bounds) == []
    last = told.rests[-1].seen
    assert last.available == last.ready


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "story", [story for story in STORIES if story.name != "progress-deadline"], ids=lambda story: story.name
)
def test_in_a_manager_whatever_runs_first_the_story_is_the_same(story: Story, seed: int) -> None:
    expected, told = simulated(story), managed(story, seed=seed)
    assert told.rests == expected.rests
    assert reasons(told, "Progressing") == reasons(expected, "Progressing")
    if story.bounds is not None:
        assert out_of_bounds(told, *story.bounds) == []


@pytest.mark.slow
@stories
def test_the_real_controllers_tell_the_same_story(cluster: Cluster, namespace: str, story: Story) -> None:
    expected, real = simulated(story), told_by(cluster, namespace, story)
    assert real.rests == expected.rests
    assert reasons(real, "Progressing") == reasons(expected, "Progressing")
    assert reasons(real, "Available") == reasons(expected, "Available")
    if story.bounds is not None:
        assert out_of_bounds(real, *story.bounds) == []
