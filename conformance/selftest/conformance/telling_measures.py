"""Lines about what is measured of members: what they hold, in memory, threads and descriptors, and have fetched."""

from __future__ import annotations

import re

from isolane.conformance.selftest.conformance.telling_kinds import SIZE, Kinds, Telling, bytes_of


def _holds(telling: Telling, at: float, said: re.Match[str]) -> None:
    samples = telling.story.samples
    rss = bytes_of(said) + (samples[-1]["rss"] if said["more"] else 0)
    threads, descriptors = int(said["threads"] or 1), int(said["descriptors"] or 1)
    samples.append({"at": at, "member": said["member"], "pid": 1, "rss": rss, "threads": threads, "fds": descriptors})


def _fetched(telling: Telling, at: float, said: re.Match[str]) -> None:
    telling.story.fetched.append({"at": at, "bytes": bytes_of(said)})


_THREADS = r"(?:(?P<threads>\d+) threads, (?P<descriptors>\d+) descriptors and )?"

KINDS: Kinds = {
    re.compile(rf"member (?P<member>\d+) holds {_THREADS}{SIZE}(?P<more> more)?"): _holds,
    re.compile(rf"fetched from Kafka so far: {SIZE}"): _fetched,
}
