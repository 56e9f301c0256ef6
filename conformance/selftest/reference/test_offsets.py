"""What may be committed: never past an unfinished record, never short of it, never backwards."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from isolane.reference.offsets import ContiguousPrefix


class Ownership(RuleBasedStateMachine):
    """Fetches, completions in any order, and positions, in any sequence."""

    def __init__(self) -> None:
        """Begin with nothing fetched."""
        super().__init__()
        self.prefix = ContiguousPrefix()
        self.fetched: list[int] = []
        self.unfinished: set[int] = set()
        self.next = 0
        self.before: int | None = None

    @rule(gaps=st.lists(st.integers(0, 3), min_size=1, max_size=8))
    def fetch(self, gaps: list[int]) -> None:
        """Records are fetched, with holes between them."""
        offsets = []
        for gap in gaps:
            offsets.append(self.next + gap)
            self.next += gap + 1
        self.prefix.fetch(offsets)
        self.fetched += offsets
        self.unfinished.update(offsets)

    @precondition(lambda self: self.unfinished)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        """Some unfinished records are finished, in any order."""
        offsets = data.draw(st.lists(st.sampled_from(sorted(self.unfinished)), min_size=1, unique=True))
        self.prefix.finish(offsets)
        self.unfinished.difference_update(offsets)

    @rule(beyond=st.integers(0, 5))
    def reach(self, beyond: int) -> None:
        """The position moves over what cannot be delivered."""
        self.next += beyond
        self.prefix.reach(self.next)

    @invariant()
    def knows_what_comes_after_all_that_was_fetched(self) -> None:
        """The last one itself does not."""
        last = max(self.fetched, default=-1)
        assert self.prefix.follows(last + 1)
        assert not self.prefix.follows(last)

    @invariant()
    def commits_nothing_unfinished(self) -> None:
        """OFF-1: everything below the committable offset is finished."""
        committable = self.prefix.committable
        assert committable is None or all(offset >= committable for offset in self.unfinished)

    @invariant()
    def commits_all_that_is_finished(self) -> None:
        """The commit follows at once: every record before the first unfinished one is below it."""
        head = min(self.unfinished, default=self.next)
        finished = [offset for offset in self.fetched if offset < head]
        if finished:
            assert self.prefix.committable is not None
            assert self.prefix.committable > finished[-1]

    @invariant()
    def never_goes_back_nor_beyond_what_is_known(self) -> None:
        """OFF-2: the committable offset only grows, up to the position at most."""
        committable = self.prefix.committable
        if self.before is not None:
            assert committable is not None
            assert committable >= self.before
        assert committable is None or committable <= self.next
        self.before = committable

    @invariant()
    def counts_what_is_finished_behind_the_head(self) -> None:
        """MEM-8: what is finished behind an unfinished record is counted."""
        head = min(self.unfinished, default=self.next)
        behind = [offset for offset in self.fetched if offset > head and offset not in self.unfinished]
        assert self.prefix.finished_behind == len(behind)


TestOwnership = Ownership.TestCase
TestOwnership.settings = settings(max_examples=50, stateful_step_count=25, deadline=None)


def test_knows_nothing_before_anything_is_fetched() -> None:
    """A new ownership has nothing to commit."""
    assert ContiguousPrefix().committable is None


def test_pins_the_first_record_before_it_is_finished() -> None:
    """OFF-6: the offset of the first record may be committed at once, so that the next owner does not skip it."""
    prefix = ContiguousPrefix()
    prefix.fetch([7, 8])
    assert prefix.committable == 7


def test_passes_control_records_once_all_is_finished() -> None:
    """OFF-3: behind the last record the commit follows the position, but only when nothing is unfinished."""
    prefix = ContiguousPrefix()
    prefix.fetch([3])
    prefix.reach(9)
    assert prefix.committable == 3
    prefix.finish([3])
    assert prefix.committable == 4
    prefix.reach(9)
    assert prefix.committable == 9


@pytest.mark.parametrize("offsets", [[5, 5], [6, 5]])
def test_refuses_records_out_of_order(offsets: list[int]) -> None:
    """Records that come twice, or backwards, would make the commit lie."""
    with pytest.raises(ValueError, match=r"offset 5 was fetched after"):
        ContiguousPrefix().fetch(offsets)


@pytest.mark.parametrize("offset", [1, 3])
def test_refuses_to_finish_what_does_not_wait(offset: int) -> None:
    """A record that was never fetched, or is finished already, cannot be finished."""
    prefix = ContiguousPrefix()
    prefix.fetch([1, 2, 4])
    prefix.finish([1])
    with pytest.raises(ValueError, match=f"offset {offset} does not wait"):
        prefix.finish([offset])
