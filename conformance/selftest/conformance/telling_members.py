"""Lines about the members of the group: what becomes of their processes."""

from __future__ import annotations

import re

from isolane.conformance.selftest.conformance.telling_kinds import Kinds, Telling


def _killed(telling: Telling, at: float, _: re.Match[str]) -> None:
    telling.story.event(at, "process", "killed", member=0)


KINDS: Kinds = {
    re.compile(r"member killed"): _killed,
}
