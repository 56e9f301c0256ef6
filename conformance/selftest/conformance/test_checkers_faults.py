"""A fault is believed when the cluster's own ledger shows that it bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers.faults import KINDS, kind_of, tenants_in
from isolane.conformance.history_values import Phase
from isolane.conformance.requirements import CATALOGUE
from isolane.conformance.selftest.conformance.builders import Story, story


def bites(made: Story, folder: Path, fault: str) -> int:
    """How often the fault of [10, 20) bit the sick tenant."""
    made.fault(fault, "sick", 10, 20)
    made.phase("end", 20)
    history = made.load(folder)
    phase = history.phases[0]
    kind = kind_of(phase)
    assert kind is not None
    assert tenants_in(history, phase) == {"sick"}
    return kind.bites(history, phase, tenants_in(history, phase))


@pytest.mark.parametrize(
    ("at", "took", "expected"),
    [(11, 5.0, 1), (11, None, 1), (19.5, None, 0), (8, 2.5, 0), (8, 4.0, 1), (11, 0.9, 0), (25, 5.0, 0)],
)
def test_a_slow_cluster_bites_when_it_holds_a_request_for_a_second_of_the_phase(
    tmp_path: Path, at: float, took: float | None, expected: int
) -> None:
    """What it held before or after the phase does not count."""
    made = story()
    made.attempt("sick", [made.produce("sick", at)], at, took=took)
    made.attempt("h0", [made.produce("h0", at)], at, took=5)
    assert bites(made, tmp_path, "slow") == expected


@pytest.mark.parametrize(
    ("status", "items", "expected"),
    [
        (429, None, 1),
        (503, None, 1),
        (200, [201, 429], 1),
        (200, 429, 1),
        (200, [201, 400], 0),
        (401, None, 0),
        (200, 201, 0),
    ],
)
def test_a_pushback_bites_when_a_request_or_an_item_is_refused_for_now(
    tmp_path: Path, status: int, items: int | list[int] | None, expected: int
) -> None:
    """Errors that are not retryable are something else."""
    made = story()
    tokens = [made.produce("sick", 11), made.produce("sick", 11)]
    made.attempt("sick", tokens, 11, status=status, items=items)
    assert bites(made, tmp_path, "pushback-429") == expected


def test_a_refusing_port_bites_when_records_were_there_and_no_request_came(tmp_path: Path) -> None:
    """It cannot be seen otherwise: no connection, no line in the ledger."""
    made = story()
    made.produce("sick", 12)
    made.produce("sick", 13)
    assert bites(made, tmp_path, "refuse") == 2


def test_a_port_that_takes_requests_does_not_refuse(tmp_path: Path) -> None:
    """One request in the phase is the proof of the contrary; those under way when it began are not."""
    made = story()
    token = made.produce("sick", 12)
    made.attempt("sick", [token], 10.2)
    assert bites(made, tmp_path / "a", "refuse") == 1
    made = story()
    made.attempt("sick", [made.produce("sick", 12)], 15)
    assert bites(made, tmp_path / "b", "refuse") == 0


def test_a_black_hole_bites_with_each_connection_that_it_swallows(tmp_path: Path) -> None:
    """And with each request that never was answered."""
    made = story()
    made.attempts += [{"e": "connected", "tenant": tenant, "at": 12} for tenant in ("sick", "sick", "h0")]
    made.attempt("sick", [made.produce("sick", 12)], 12, took=None)
    assert bites(made, tmp_path, "blackhole") == 3


def test_a_reset_bites_when_an_exchange_ended_by_one(tmp_path: Path) -> None:
    """Ends of other kinds are none."""
    made = story()
    for how in ("reset", "replied", "client_gone"):
        made.attempt("sick", [made.produce("sick", 12)], 12, how=how)
    assert bites(made, tmp_path, "reset") == 1


@pytest.mark.parametrize(("others", "expected"), [(1, 40), (4, 10), (0, 0)])
def test_a_flood_bites_as_many_times_as_it_exceeds_the_loudest_of_the_others(
    tmp_path: Path, others: int, expected: int
) -> None:
    """In bytes that Kafka took during the phase."""
    made = story()
    for _ in range(40):
        made.produce("sick", 12)
    for _ in range(others):
        made.produce("h0", 12)
        made.produce("h0", 22)
    assert bites(made, tmp_path, "flood-100") == expected


def test_a_flood_must_reach_half_of_the_volume_that_was_asked_for(tmp_path: Path) -> None:
    """Below that it is another, smaller flood."""
    made = story()
    made.fault("flood", "sick", 10, 20)
    made.events[1]["script"] = {"times": 100}
    made.phase("end", 20)
    history = made.load(tmp_path)
    assert KINDS["flood"].least(history, history.phases[0]) == 50


def test_many_sick_tenants_bite_when_more_of_them_than_workers_are_left_behind(tmp_path: Path) -> None:
    """Not each of them can have had a request held: that is what isolation is."""
    made = story(healthy=2)
    for name in ("h0", "h1"):
        made.event(10, "fault", "many", tenant=name)
        made.event(20, "heal", "many", tenant=name)
        made.produce(name, 12)
    made.attempt("sick", [made.produce("sick", 11)], 11, took=10)
    made.fault("many", "sick", 10, 20)
    made.phase("end", 20)
    history = made.load(tmp_path)
    kind, phase = KINDS["many"], history.phases[0]
    assert kind.bites(history, phase, tenants_in(history, phase)) == 3
    assert kind.least(history, phase) == 17


def test_many_tenants_of_which_none_had_a_request_held_were_not_sick(tmp_path: Path) -> None:
    """Records that wait may wait for other reasons."""
    made = story()
    made.produce("sick", 12)
    assert bites(made, tmp_path, "many") == 0


def test_every_kind_tries_a_requirement_of_the_catalogue() -> None:
    """Variants share the kind of their first word."""
    assert {kind.requirement for kind in KINDS.values()} <= set(CATALOGUE.requirements)
    assert kind_of(Phase("fault:pushback-503", 0, 1)) is KINDS["pushback"]
    assert kind_of(Phase("control", 0, 1)) is None
    assert kind_of(Phase("fault:earthquake", 0, 1)) is None
