"""A history of a million events is read and judged in bounded memory."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from isolane.conformance.selftest.conformance import many_events
from isolane.conformance.selftest.conformance.many_events import Shape

EACH = 500
"""Bytes of memory that an event may cost while everything is judged."""

REST = 32 << 20
"""Bytes that may be needed beside, whatever the number of events."""

JUDGING = """
import re, resource, sys
from pathlib import Path
from isolane.conformance import checkers
from isolane.conformance.history import History

def peak():
    status = Path("/proc/self/status")  # on Linux the other figure is that of who started us, too
    if status.exists():
        return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

before = peak()
for finding in checkers.judge(History.load(Path(sys.argv[1]))):
    print(finding.requirement, finding.verdict, finding.summary)
print("bytes", peak() - before)
"""


@pytest.mark.parametrize("events", [20_000, pytest.param(1_000_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("shape", ["sane", "refused", "lost"])
def test_memory_is_bounded_by_the_number_of_events(events: int, shape: Shape, tmp_path: Path) -> None:
    """Whatever became of the records; and each of them was looked at."""
    folder = tmp_path / "history"
    records = many_events.write(folder, events, shape)
    argv = [sys.executable, "-c", JUDGING, str(folder)]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    if shape == "lost":
        assert re.search(rf"^DEL-1 fail .* never finished: {records // 2};", said, re.MULTILINE)
    else:
        assert f"DEL-1 pass every record was finished by the end of the drain ({records})" in said
    used = re.search(r"^bytes (\d+)$", said, re.MULTILINE)
    assert used is not None
    assert int(used[1]) <= EACH * events + REST
