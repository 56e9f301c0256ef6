"""The tally: sums over histories, as lines for people."""

from __future__ import annotations

from pathlib import Path

from isolane.chaos.tally import tallied
from isolane.conformance.selftest.conformance.builders import Story, story


def lived() -> Story:
    """Three records, one of which was lost and one of which became two documents; a fault, and a member that died."""
    made = story()
    first, second, _lost = (made.produce("sick", at) for at in (0.0, 1.0, 2.0))
    made.find("sick", [first], at=1, seen=2)
    made.find("sick", [second], at=1, seen=2)
    made.find("sick", [second], at=3, seen=4, name="again")
    made.search("sick", 9.9)
    made.phase("drain", 7)
    made.phase("end", 8)
    made.event(5, "chaos", "kill", number=0, part="begins")
    made.event(5, "process", "killed", member=0)
    made.group(0, {}, generation=1)
    made.group(6, {}, generation=3)
    made.samples += [
        {"at": 1, "member": 0, "pid": 1, "rss": size << 20, "threads": 1, "fds": 1} for size in (70, 90, 80)
    ]
    return made


def test_everything_is_summed(tmp_path: Path) -> None:
    """Two histories have twice as much of everything, but for the peak."""
    folders = [lived().write(tmp_path / name) for name in ("one", "two")]
    tally = tallied(folders)
    assert (tally.records, tally.lost, tally.documents, tally.duplicates) == (6, 2, 6, 2)
    assert (tally.faults, tally.ended, tally.peak) == ({"kill": 2}, {"killed": 2}, 90 << 20)
    assert list(tally.lines()) == [
        "6 records in 0.3 min (0 a second), 2 lost",
        "6 documents, 2 more than items",
        "2 faults: kill 2",
        "2 members ended: killed 2; 4 rebalances",
        "90 MiB of memory at most",
    ]


def test_what_was_under_way_when_a_timeline_was_broken_off_is_not_lost(tmp_path: Path) -> None:
    """Without a whole drain nobody knows what would have become of it."""
    made = lived()
    made.events = [line for line in made.events if line["kind"] != "phase"]
    tally = tallied([lived().write(tmp_path / "whole"), made.write(tmp_path / "part")])
    assert (tally.lost, tally.open) == (1, 1)
    assert next(tally.lines()).endswith(", 1 lost, 1 not finished when its timeline was broken off")


def test_nothing_is_nothing() -> None:
    """A run that was broken off before its first history has a tally, too."""
    assert next(tallied([]).lines()) == "0 records in 0.0 min (0 a second), 0 lost"
