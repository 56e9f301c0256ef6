"""The adaptive cap: raised step by step, halved at once."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from isolane.reference.limiter import AdaptiveCap

SAMPLES = st.lists(st.tuples(st.sampled_from(["good", "bad", "share"]), st.floats(0, 5), st.booleans()), max_size=40)


@settings(deadline=None)
@given(floor=st.integers(1, 4), span=st.integers(0, 8), samples=SAMPLES)
def test_stays_between_floor_and_ceiling(floor: int, span: int, samples: list[tuple[str, float, bool]]) -> None:
    """LIM-1, LIM-2, LIM-4: it begins at the floor, and no samples bring it below that or above the ceiling."""
    cap = AdaptiveCap(floor, floor + span)
    assert cap.value == floor
    now = 0.0
    for kind, age, saturated in samples:
        now += 1.0
        before = cap.value
        if kind == "good":
            cap.good(now - age, saturated=saturated)
            assert cap.value <= before + 1
        else:
            cap.bad(now - age, now, share=1.0 if kind == "bad" else 0.4)
            assert cap.value in {before, max(floor, before // 2)}
        assert floor <= cap.value <= floor + span


class Model:
    """What the requirements say of a cap, with exact shares."""

    def __init__(self, floor: int, ceiling: int) -> None:
        """Begin at the floor, before any event."""
        self.floor, self.ceiling, self.value = floor, ceiling, floor
        self.event: float | None = None
        self.refused = Fraction(0)

    def sample(self, began: float, now: float, bad: Fraction | None, *, saturated: bool) -> None:
        """Take a success (None), or the share that was refused, unless it is news of the last event."""
        if self.event is not None and began < self.event:
            return
        if bad is None:
            self.value = min(self.ceiling, self.value + saturated)
        elif (refused := self.refused + bad) >= 1:
            self.value, self.event, self.refused = max(self.floor, self.value // 2), now, Fraction(0)
        else:
            self.refused = refused


class Samples(RuleBasedStateMachine):
    """Samples of attempts that began at any time before, held against the model."""

    FLOOR, CEILING = 1, 6

    def __init__(self) -> None:
        """Begin at second 100."""
        super().__init__()
        self.cap, self.model, self.now = AdaptiveCap(self.FLOOR, self.CEILING), Model(self.FLOOR, self.CEILING), 100.0

    @rule(lasted=st.sampled_from([0.0, 0.5, 3.0]), saturated=st.booleans())
    def succeed(self, lasted: float, *, saturated: bool) -> None:
        """An attempt was accepted in time."""
        self.now += 1
        self.cap.good(self.now - lasted, saturated=saturated)
        self.model.sample(self.now - lasted, self.now, None, saturated=saturated)

    @rule(lasted=st.sampled_from([0.0, 0.5, 3.0]), eighths=st.integers(1, 8))
    def fail(self, lasted: float, eighths: int) -> None:
        """Some of an attempt's items were refused, or all of them."""
        self.now += 1
        self.cap.bad(self.now - lasted, self.now, share=eighths / 8)
        self.model.sample(self.now - lasted, self.now, Fraction(eighths, 8), saturated=True)

    @invariant()
    def is_what_the_requirements_say(self) -> None:
        """LIM-1 to LIM-4."""
        assert self.cap.value == self.model.value


TestSamples = Samples.TestCase
TestSamples.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_rises_by_one_for_each_success_at_saturation() -> None:
    """LIM-2: a tenant that holds its whole cap and succeeds may hold one more; one that does not need it may not."""
    cap = AdaptiveCap(1, 8)
    cap.good(1.0, saturated=False)
    assert cap.value == 1
    for expected in (2, 3, 4, 5, 6, 7, 8, 8):
        cap.good(1.0, saturated=True)
        assert cap.value == expected


def test_is_halved_once_for_one_event() -> None:
    """LIM-3: a bad sample halves at once; those of attempts that began before are news of the same event."""
    cap = _risen_to(8)
    cap.bad(0.5, 1.0)
    assert cap.value == 4
    cap.bad(0.9, 1.1)
    cap.good(0.9, saturated=True)
    assert cap.value == 4
    cap.bad(1.2, 1.3)
    assert cap.value == 2


def test_counts_refused_items_in_proportion() -> None:
    """A quarter of the items refused, four times over, weighs as much as one request refused."""
    cap = _risen_to(8)
    for _ in range(3):
        cap.bad(1.0, 1.0, share=0.25)
        assert cap.value == 8
    cap.bad(1.0, 1.0, share=0.25)
    assert cap.value == 4


def _risen_to(value: int) -> AdaptiveCap:
    cap = AdaptiveCap(1, value)
    for _ in range(value):
        cap.good(0.0, saturated=True)
    return cap
