"""The simulated cluster does what the scripted one does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from isolane.conformance.simulation.choice import Replayed
from isolane.conformance.simulation.cluster import ClusterPort, SimulatedCluster
from isolane.conformance.simulation.failures import Failure
from isolane.conformance.simulation.ledger import Ledger
from isolane.conformance.simulation.scheduler import Process, Scheduler
from isolane.conformance.simulation.scripts import SCRIPTS
from isolane.conformance.simulation.settings import places_of
from isolane.conformance.simulation.story import Story
from isolane.fixtures.cluster.vocabulary import Script
from isolane.reference.otlp import Document
from isolane.reference.outcome import Outcome, Reply

(PLACE,) = places_of("t0", 1)
GOOD, LATER, BAD, AWAY = Outcome.ACCEPTED, Outcome.RETRYABLE, Outcome.CONDEMNED, Outcome.ENVIRONMENT


class Bench:
    """A cluster, and three records of one document each."""

    def __init__(self) -> None:
        """Begin well."""
        self.scheduler = Scheduler(Replayed())
        story = Story(lambda: self.scheduler.now, wanted=False)
        self.ledger = Ledger(self.scheduler, story)
        self.cluster = SimulatedCluster("t0", self.scheduler, self.ledger, story)
        self.port = ClusterPort(self.cluster, lambda *_: None)
        self.documents = []
        for offset in range(3):
            self.ledger.produced(PLACE, offset, "t0", 1)
            self.documents.append(
                Document("logs", f"{PLACE.topic}:{PLACE.partition}:{offset}:0", b'{"a":"%s"}' % (b"x" * 300))
            )

    def attempt(self, timeout: float = 10.0) -> Reply:
        """Send all three."""
        return self.port.attempt(self.documents, timeout=timeout, key=1)


@pytest.fixture
def bench() -> Iterator[Bench]:
    """A bench, cleared away afterwards."""
    made = Bench()
    yield made
    made.scheduler.close()


@pytest.mark.parametrize(
    ("script", "items", "stored"),
    [
        (Script(), (GOOD, GOOD, GOOD), 3),
        (Script(refuse=True), (LATER, LATER, LATER), 0),
        (Script(status=429), (LATER, LATER, LATER), 0),
        (Script(status=401), (AWAY, AWAY, AWAY), 0),
        (Script(items=(201, 429, 400)), (GOOD, LATER, BAD), 1),
        (Script(items=(403,)), (AWAY, AWAY, AWAY), 0),
        (Script(short_reply=1), (GOOD, GOOD, LATER), 2),
        (Script(not_json=True), (LATER, LATER, LATER), 0),
        (Script(lose_reply=True), (LATER, LATER, LATER), 3),
        (Script(reset_after=10), (LATER, LATER, LATER), 3),
        (Script(body_limit=10), (Outcome.TOO_LARGE,) * 3, 0),
        (Script(admit=0), (LATER, LATER, LATER), 0),
    ],
)
def test_a_script_decides_the_outcomes(bench: Bench, script: Script, items: tuple[Outcome, ...], stored: int) -> None:
    """What the sender is told, and what is stored, are two things; the script counts as having bitten."""
    bench.cluster.perform(script)
    assert tuple(bench.attempt().items) == items
    assert bench.ledger.unfinished == 3 - stored
    assert bool(bench.cluster.bitten) == (script != Script())


def test_what_was_stored_is_accepted_again(bench: Bench) -> None:
    """DEL-9: a conflict with an own id means accepted."""
    bench.attempt()
    assert tuple(bench.attempt().items) == (GOOD, GOOD, GOOD)


def test_silence_ends_at_the_deadline(bench: Bench) -> None:
    """DEL-6: of a black hole and of a reply that trickles alike."""
    for name in ("answers nothing", "trickles"):
        bench.cluster.perform(SCRIPTS[name])
        began = bench.scheduler.now
        assert bench.attempt(timeout=0.3).reason == "no whole answer in time"
        assert bench.scheduler.now == pytest.approx(began + 0.3)


def test_an_attempt_can_be_cut(bench: Bench) -> None:
    """By its key alone."""
    bench.cluster.perform(SCRIPTS["answers nothing"])
    replies: list[Reply] = []
    bench.scheduler.spawn("sender", Process("p"), lambda: replies.append(bench.attempt()))
    bench.scheduler.sleep(0.1)
    bench.port.cut(2)
    bench.scheduler.sleep(0.1)
    assert replies == []
    bench.port.cut(1)
    bench.scheduler.sleep(0.1)
    assert [reply.reason for reply in replies] == ["cut"]


def test_the_killed_leave_their_place_to_others(bench: Bench) -> None:
    """A process that dies within an attempt is not counted as admitted for ever."""
    bench.cluster.perform(Script(latency=1.0, admit=1))
    process = Process("p")
    bench.scheduler.spawn("sender", process, bench.attempt)  # type: ignore[arg-type]  # what it returns is nobody's
    bench.scheduler.sleep(0.1)
    assert tuple(bench.attempt().items) == (LATER, LATER, LATER)
    bench.scheduler.kill(process)
    assert tuple(bench.attempt().items) == (GOOD, GOOD, GOOD)


def test_a_document_of_another_tenant_is_seen(bench: Bench) -> None:
    """TEN-2."""
    bench.ledger.produced(PLACE, 3, "t1", 1)
    bench.documents.append(Document("logs", f"{PLACE.topic}:{PLACE.partition}:3:0", b"{}"))
    with pytest.raises(Failure, match="@3 of t1 was sent to the cluster of t0"):
        bench.attempt()


def test_every_script_bites(bench: Bench) -> None:
    """Each of the faults that plans are made of does something within a few attempts."""
    for script in SCRIPTS.values():
        bench.cluster.perform(script)
        before = bench.cluster.bitten
        for _ in range(12):
            bench.attempt(timeout=0.5)
        assert bench.cluster.bitten > before or script.admit, script.parts
