"""What is possible: what names nothing at its time, or falls where it cannot be done, is told before all starts."""

from __future__ import annotations

from typing import Any

import pytest

from isolane.chaos import possible
from isolane.chaos.happenings import KAFKA
from isolane.chaos.timeline import Timeline

Given = list[tuple[str, float, float, dict[str, Any]]]

TENANTS = ("a", "b", "late")

IMPOSSIBLE: list[tuple[Given, str]] = [
    # what there is not
    ([("kill", 1, 1, {"member": 2})], "fault.0.member: 2: allowed: 0, 1"),
    ([("crash_loop", 1, 0, {"member": 2})], "fault.0.member: 2: allowed: 0, 1"),
    (
        [("kill", 5, 1, {}), ("scale", 4, 0, {"members": 0})],
        "fault.0.member: 0: allowed: none that there is at its time",
    ),
    (
        [("burst", 1, 0, {"tenant": "late"}), ("new_topic", 2, 0, {"tenant": "late"})],
        "fault.0.tenant: 'late': allowed: a, b",
    ),
    (
        [("new_topic", at, 0, {"tenant": "late"}) for at in (1, 2)],
        "fault.1.tenant: 'late': allowed: none that there is",
    ),
    ([("new_topic", 1, 0, {"tenant": "a"})], "fault.0.tenant: 'a': allowed: late"),
    (
        [("partitions", at, 0, {"tenant": "a", "partitions": 4}) for at in (1, 2)],
        "fault.1.partitions: 4: allowed: more than 4",
    ),
    ([("refuse", 1, 1, {"target": "kafka:leader"})], "allowed: a, b, late, kafka, kafka:1, kafka:coordinator"),
    # what cannot be twice at a time
    (
        [("node_kill", 1, 5, {"tenant": "a"}), ("node_freeze", 3, 1, {"tenant": "a"})],
        "fault.1.at: 3: fault.0, node_kill, lasts from 1 to 6: allowed: not meanwhile",
    ),
    ([("broker_kill", 1, 5, {}), ("broker_freeze", 3, 1, {})], "fault.1.at: 3: fault.0, broker_kill, lasts"),
    ([("stop", 1, 5, {}), ("crash_loop", 3, 0, {})], "fault.1.at: 3: fault.0, stop, lasts"),
    ([("write_block", at, 5, {"tenant": "a"}) for at in (4, 1)], "fault.0.at: 4: fault.1, write_block, lasts"),
    (
        [("refuse", 1, 5, {"target": "kafka"}), ("refuse", 3, 1, {"target": "kafka:1"})],
        "fault.1.at: 3: fault.0, refuse",
    ),
    # who is asked, and does not answer
    ([("node_kill", 1, 5, {"tenant": "a"}), ("conflict", 1, 0, {"tenant": "a"})], "fault.1.at: 1: fault.0, node_kill"),
    (
        [("node_freeze", 3, 5, {"tenant": "a"}), ("latency", 1, 5, {"target": "a"})],
        "fault.1.seconds: 5: fault.0, node_freeze",
    ),
    ([("node_freeze", 3, 5, {"tenant": "a"}), ("reset", 4, 9, {"target": "a"})], "fault.1.at: 4: fault.0, node_freeze"),
    ([("broker_kill", 1, 5, {}), ("abort", 3, 0, {"tenant": "a"})], "fault.1.at: 3: fault.0, broker_kill"),
    (
        [("broker_kill", 1, 5, {}), ("refuse", 3, 9, {"target": "kafka:coordinator"})],
        "fault.1.at: 3: fault.0, broker_kill",
    ),
]

POSSIBLE: list[Given] = [
    [("kill", 1, 1, {"member": 3}), ("scale", 0, 0, {"members": 4})],
    [("new_topic", 1, 0, {"tenant": "late"}), ("partitions", 2, 0, {"tenant": "late", "partitions": 3})],
    [("no_new_indices", 1, 5, {"tenant": "late"}), ("new_topic", 2, 0, {"tenant": "late"})],
    [("node_kill", 1, 5, {"tenant": "a"}), ("node_kill", 3, 5, {"tenant": "b"})],
    [("node_kill", 1, 5, {"tenant": "a"}), ("node_kill", 6, 5, {"tenant": "a"})],
    [("node_kill", 3, 5, {"tenant": "a"}), ("latency", 1, 9, {"target": "a"}), ("burst", 4, 0, {"tenant": "a"})],
    [("broker_kill", 1, 5, {}), ("kill", 3, 1, {}), ("latency", 3, 1, {"target": "kafka"})],
    [("kill", 1, 5, {"member": 0}), ("kill", 3, 5, {"member": 1})],
    [("latency", 1, 5, {"target": "a"}), ("latency", 3, 5, {"target": "a"}), ("black_hole", 4, 1, {"target": "a"})],
]


def timeline(given: Given) -> dict[str, Any]:
    """A timeline in which that happens: kind, time, seconds that it lasts, if it does, and what it takes."""
    faults = [
        {"kind": kind, "at": at, **({"seconds": seconds} if seconds else {}), **more}
        for kind, at, seconds, more in given
    ]
    tenants = [{"name": name, "late": name == "late"} for name in TENANTS]
    return {"name": "own", "members": 2, "tenant": tenants, "fault": faults}


@pytest.mark.parametrize(("given", "message"), IMPOSSIBLE, ids=[message for _, message in IMPOSSIBLE])
def test_what_is_impossible_is_refused(given: Given, message: str) -> None:
    """Each is told with its field, its value and what is allowed."""
    with pytest.raises(ValueError, match=r"fault\.") as caught:
        Timeline.model_validate(timeline(given))
    assert message in str(caught.value)


@pytest.mark.parametrize("given", POSSIBLE, ids=["+".join(each[0] for each in given) for given in POSSIBLE])
def test_what_is_possible_is_taken(given: Given) -> None:
    """What falls together without harm, and what is there when it is named, is no mistake."""
    assert list(possible.mistakes(Timeline.model_validate(timeline(given)))) == []


def test_a_long_value_is_told_by_its_beginning() -> None:
    """What is allowed stands near it."""
    with pytest.raises(ValueError, match=r"fault\.0\.target: 'x{100,200}…: allowed: a, b, late, kafka"):
        Timeline.model_validate(timeline([("refuse", 1, 1, {"target": "x" * 3000})]))


def test_other_brokers_answer_for_one_that_is_away() -> None:
    """Of three one may be away while topics are made."""
    own = timeline([("broker_kill", 1, 5, {}), ("new_topic", 3, 0, {"tenant": "late"})])
    assert Timeline.model_validate({**own, "brokers": 3}).brokers == 3
    with pytest.raises(ValueError, match=r"fault\.0, broker_kill, lasts"):
        Timeline.model_validate(own)


def test_no_tenant_is_called_as_kafka() -> None:
    """A target of that name would mean one or the other."""
    with pytest.raises(ValueError, match="tenant: 'kafka': allowed: any other name"):
        Timeline.model_validate({"name": "own", "tenant": [{"name": KAFKA}]})
