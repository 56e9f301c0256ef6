"""A Kafka that does not answer: what is asked of it fails in a way that callers can wait out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kafka.errors import KafkaTimeoutError

from isolane.conformance.broker import Broker
from isolane.conformance.errors import HarnessError


class Silent:
    """An administrator's connection on which nothing is answered."""

    def describe_topics(self, _names: Sequence[str]) -> None:
        """Wait in vain."""
        raise KafkaTimeoutError("no answer")


def test_offsets_cannot_be_set_back_while_nobody_answers() -> None:
    """That is a failure of the harness as when Kafka refuses: who sets them back tries again."""
    broker = Broker.__new__(Broker)
    broker._admin = Silent()
    with pytest.raises(HarnessError, match=r"does not set the offsets of own back: .*no answer"):
        broker.rewind("own", ["topic"])
