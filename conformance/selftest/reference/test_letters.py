"""Dead letters, also while their destination is down: whose turn it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from isolane.conformance.selftest.reference.fakes import FakeLane, eventually, piece
from isolane.reference.config import Retry
from isolane.reference.dead_letter import DeadLetterUnavailable
from isolane.reference.letters import Letters
from isolane.reference.runtime import Runtime

RETRY = Retry.model_validate({"initial_interval": "50ms", "max_interval": "50ms", "jitter": 0.0})


class OneTopicDown:
    """A destination that refuses the letters of one tenant's topic, while it is told to."""

    def __init__(self, refused: FakeLane) -> None:
        """Refuse the letters of this lane's topic."""
        self.refused: FakeLane | None = refused
        self.tried: list[str] = []
        self.written: list[str] = []

    def send(self, topic: str, partition: int, offset: int, value: bytes, reason: str) -> None:  # noqa: ARG002 - the port's signature
        """See `Destination`."""
        self.tried.append(topic)
        if self.refused is not None and topic == self.refused.place.topic:
            raise DeadLetterUnavailable("away")
        self.written.append(topic)


@pytest.fixture
def letters_to(runtime: Runtime) -> Iterator[tuple[Letters, OneTopicDown, FakeLane, FakeLane]]:
    """Letters, their destination, the lane whose letters it refuses, and another."""
    down, other = FakeLane("a"), FakeLane("b")
    destination = OneTopicDown(down)
    letters = Letters(runtime, RETRY, destination)
    yield letters, destination, down, other
    letters.close()


def test_a_refused_letter_lets_all_of_its_topic_wait(
    letters_to: tuple[Letters, OneTopicDown, FakeLane, FakeLane], runtime: Runtime
) -> None:
    """POI-3: letters for elsewhere wait for one failing write, not for each that would fail as well."""
    letters, destination, down, other = letters_to
    for _ in range(5):
        letters.reject(down, piece(), "bad", "dead_letter")
    letters.reject(other, piece(), "bad", "dead_letter")
    thread = runtime.spawn("letters", letters.work)
    eventually(lambda: other.resolved)
    assert destination.tried.index(other.place.topic) == 1
    destination.refused = None
    eventually(lambda: len(down.resolved) == 5)
    letters.close()
    thread.join(5)
    assert destination.written.count(down.place.topic) == 5


def test_tenants_take_turns(letters_to: tuple[Letters, OneTopicDown, FakeLane, FakeLane], runtime: Runtime) -> None:
    """POI-1: a partition does not wait until all dead letters of another tenant, who has many, are written."""
    letters, destination, many, one = letters_to
    destination.refused = None
    for _ in range(100):
        letters.reject(many, piece(), "bad", "dead_letter")
    letters.reject(one, piece(), "bad", "dead_letter")
    thread = runtime.spawn("letters", letters.work)
    eventually(lambda: len(many.resolved) == 100)
    letters.close()
    thread.join(5)
    assert destination.written.index(one.place.topic) == 1
    offsets = [resolved.record.offset for resolved in many.resolved]
    assert offsets == sorted(offsets)
