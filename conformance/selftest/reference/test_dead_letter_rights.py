"""Dead letters of a process that brokers allow to write, and not to create topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from kafka.errors import TopicAuthorizationFailedError

from isolane.conformance.selftest.reference.fakes import config
from isolane.reference import dead_letter
from isolane.reference.dead_letter import DeadLetters, DeadLetterUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NO_SUCH_TOPIC = 3


class Broker:
    """What kafka-python's clients say of a broker that lets nobody create a topic, not even one that is there."""

    def __init__(self, *topics: str) -> None:
        """Begin with these topics."""
        self.topics = topics
        self.written: list[str] = []

    def __call__(self, **_: object) -> Broker:
        """Be the admin client, or the producer, that is made."""
        return self

    def describe_topics(self, topics: Sequence[str]) -> list[dict[str, Any]]:
        """Tell which of the topics are there."""
        return [{"name": topic, "error_code": 0 if topic in self.topics else NO_SUCH_TOPIC} for topic in topics]

    def create_topics(self, topics: Mapping[str, object], **_: object) -> None:
        """Look at the right before the topic, as brokers do."""
        raise TopicAuthorizationFailedError(str(list(topics)))

    def send(self, topic: str, *_: object, **__: object) -> Broker:
        """Take a write."""
        self.written.append(topic)
        return self

    def get(self, timeout: float) -> None:
        """Confirm it."""

    def close(self, **_: object) -> None:
        """Do nothing."""


def send(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a dead letter of topic `t`."""
    monkeypatch.setattr(dead_letter, "KafkaAdminClient", broker)
    monkeypatch.setattr(dead_letter, "KafkaProducer", broker)
    DeadLetters(config()).send("t", 0, 7, b"value", "reason")


def test_a_letter_is_written_to_a_topic_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """DEL-4, POI-1: whoever keeps the right to create to himself has made the topic, and no partition stands still."""
    broker = Broker("t.dead_letter")
    send(broker, monkeypatch)
    assert broker.written == ["t.dead_letter"]


def test_a_topic_that_is_not_there_and_may_not_be_created_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """POI-3: what is missing is said at once, and not that the topic could not be found within ten seconds."""
    broker = Broker()
    with pytest.raises(DeadLetterUnavailable, match=r"^t\.dead_letter: .*TopicAuthorizationFailed"):
        send(broker, monkeypatch)
    assert not broker.written
