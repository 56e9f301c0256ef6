"""What the phases of scenarios are, in one line each: the names stand in stories, cases and counts."""

from __future__ import annotations

from collections.abc import Iterable

MEANINGS = {
    "ready": "the first records, one through each partition, show that it consumes everything",
    "capacity": "a burst over all topics without a fault, to measure how much is delivered a second",
    "warm-up": "load without a fault that is not measured yet",
    "control": "load without a fault: what later phases are compared with",
    "settle": "a moment of the same load, so that what is left of the control does not wait behind a fault",
    "backlog": "a backlog is delivered without a fault, to measure how fast that is",
    "fault:": "the trouble of this name lasts: clusters are slow, refuse or are away, or a tenant floods",
    "heal:": "the trouble of this name is over, and what it held up is waited for",
    "fill:": "clusters have just stopped taking anything, and a backlog is sent to them",
    "drain": "the load has ended, and whatever was sent is waited for",
    "rest": "everything was waited for, nothing is left to do, and metrics are read",
    "end": "the scenario is over, and its members are stopped",
    "unowned": "records come in a topic that belongs to no tenant",
    "broken": "records come that cannot be decoded, or have nothing to deliver, while a cluster is away",
    "healed": "that cluster is back, and what it held up is waited for",
    "new": "topics and partitions are created while everything runs",
    "idle": "most tenants send hardly anything",
    "fresh": "one member alone, measured",
    "before": "one member alone, measured again after another one has come and gone once",
    "cycles": "a second member comes and goes many times",
    "after": "one member alone, measured once more after that",
    "settle:": "one member has everything again, before it is measured",
    "crashes": "the member is killed under load",
    "kills": "the member is killed at random moments",
    "away": "clusters are away or refuse, and in some scenarios Kafka is away, too",
    "back": "the clusters are well again, and what they held up is waited for",
    "well": "load without a fault",
    "stalled": "every cluster fails in a way of its own, for longer than the poll interval",
    "joined": "a second member joins and gets its part of the partitions",
    "inherited": "that member is killed, and the first one gets all partitions back",
    "stopped": "members are stopped while nothing can be delivered",
    "rolling": "one member after the other is stopped and started again",
    "frozen": "one member does nothing for longer than its session, and goes on",
    "killed": "one of two members is killed",
    "uncommitted": "partitions change hands before anything was committed in them",
    "churn": "members come, go and are killed while replies are slow",
    "outcomes": "each tenant's cluster answers wrongly in a way of its own",
    "large": "records come that are larger than what may be in flight",
    "warm": "a backlog is delivered without a fault, so that memory has been as high as that takes",
    "wrong": "it is started with configurations that are wrong",
    "nothing there": "it is started while Kafka and a cluster are away",
    "change:": "a tenant is changed, taken away or brought back",
    "metrics": "more waits for a slow cluster than may be in flight, and metrics are read",
    "measured": "that cluster is quick again, and what it held up is waited for",
    "refused": "a cluster does not accept the credentials",
    "restarted": "the member is stopped and started again",
    "chaos": "the timeline's faults, as they come",
    "calm": "the faults are over, and what they held up is waited for",
}
"""By name, or by what the names of a family begin with, up to and with the colon."""


def explained(names: Iterable[str]) -> dict[str, str]:
    """Return what these phases are, by name, in their order; those of a family together, as ``fault:…``.

    A phase of which nothing is known is left out.
    """
    found = {}
    for name in names:
        family = name[: name.find(":") + 1]
        key = name if name in MEANINGS else family
        if key in MEANINGS:
            found[f"{key}…" if key == family else key] = MEANINGS[key]
    return found
