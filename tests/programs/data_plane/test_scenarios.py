"""The simulated data plane and the real controllers tell the same stories."""

from __future__ import annotations

import pytest

from envtest import Cluster
from envtest.scenarios.catalogue import STORIES, Story
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


@pytest.mark.slow
@stories
def test_the_real_controllers_tell_the_same_story(cluster: Cluster, namespace: str, story: Story) -> None:
    expected, real = simulated(story), told_by(cluster, namespace, story)
    assert real.rests == expected.rests
    assert reasons(real, "Progressing") == reasons(expected, "Progressing")
    assert reasons(real, "Available") == reasons(expected, "Available")
    if story.bounds is not None:
        assert out_of_bounds(real, *story.bounds) == []
