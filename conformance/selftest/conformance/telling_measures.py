"""Lines about what is measured of members: the memory that they hold, and the bytes that they have fetched."""

from __future__ import annotations

import re

from isolane.conformance.selftest.conformance.telling_kinds import SIZE, Kinds, Telling, bytes_of


def _holds(telling: Telling, at: float, said: re.Match[str]) -> None:
    samples = telling.story.samples
    rss = bytes_of(said) + (samples[-1]["rss"] if said["more"] else 0)
    samples.append({"at": at, "member": said["member"], "pid": 1, "rss": rss, "threads": 1, "fds": 1})


def _fetched(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.fetched.append({"at": at, "bytes": bytes_of(said)})


KINDS: Kinds = {
    re.compile(rf"member (?P<member>\d+) holds {SIZE}(?P<more> more)?"): _holds,
    re.compile(rf"fetched from Kafka so far: {SIZE}"): _fetched,
}
