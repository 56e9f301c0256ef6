"""Cases: stretches of a tenant's life in which its cluster was wrong in one way, as faults tell them.

A fault is called ``KIND`` or ``KIND-VARIANT``, and so is its case. A request belongs to the fault during which it
arrived: what the cluster does with it is settled then.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from isolane.conformance.checkers import draining, harness
from isolane.conformance.checkers.delivery import DRAIN
from isolane.conformance.checkers.story import story
from isolane.conformance.history import History
from isolane.conformance.history_ledger import Attempt
from isolane.conformance.history_values import Fault, Produced
from isolane.conformance.tokens import ITEM_BITS
from isolane.conformance.verdict import Figure, Finding, Verdict


@dataclass(frozen=True, slots=True)
class Late:
    """Something that lasted too long: since when, how many seconds, and how many it may."""

    since: float
    seconds: float
    bound: float


@dataclass(frozen=True, slots=True)
class Judge:
    """Makes the findings of one requirement on one history, or on one case of it."""

    history: History
    requirement: str
    case: str = ""

    def passes(self, summary: str, figures: Mapping[str, Figure]) -> Finding:
        """Return the finding that nothing was wrong."""
        return self._finding(Verdict.PASS, summary, figures)

    def doubts(self, summary: str, figures: Mapping[str, Figure]) -> Finding:
        """Return the finding that nothing can be said."""
        return self._finding(Verdict.INCONCLUSIVE, summary, figures)

    def fails(
        self, what: str, records: Iterable[Produced], figures: Mapping[str, Figure], late: Iterable[Late] = ()
    ) -> Finding:
        """Return the finding that `what` happened to these records, of which there is one at least.

        Where it did because of what was `late`, and a starved harness may be the reason for all of that, it is a doubt.
        """
        suffered = list(dict.fromkeys(records))
        if reason := self._excuse(late):
            return self.doubts(f"{what} ({len(suffered)}), but {reason}", figures)
        first = suffered[0]
        return Finding(
            self.requirement,
            self.history.scenario,
            Verdict.FAIL,
            f"{what}: {len(suffered)}; first {self.history.place(first)}",
            self.case,
            figures,
            evidence=tuple(record.token for record in suffered[:10]),
            story=story(self.history, first),
        )

    def violates(self, summary: str, figures: Mapping[str, Figure], late: Iterable[Late] = ()) -> Finding:
        """Return the finding that something was wrong, of which no record can tell more; `late` is that of `fails`."""
        if reason := self._excuse(late):
            return self.doubts(f"{summary}, but {reason}", figures)
        return self._finding(Verdict.FAIL, summary, figures)

    def _excuse(self, late: Iterable[Late]) -> str | None:
        """Return why all of these may be the harness' own fault; None when one cannot, or when there are none."""
        excuse = None
        for each in late:
            excuse = harness.excuse(self.history, each.since, each.seconds, each.bound)
            if excuse is None:
                return None
        return excuse

    def _finding(self, verdict: Verdict, summary: str, figures: Mapping[str, Figure]) -> Finding:
        return Finding(self.requirement, self.history.scenario, verdict, summary, self.case, figures)


def of_kind(history: History, *kinds: str) -> list[Fault]:
    """Return the faults of these kinds, in order."""
    return [fault for fault in history.faults if fault.name.partition("-")[0] in kinds]


def part(fault: Fault, name: str) -> object:
    """Return what the fault's script says by this name, in whichever layer; None where none does."""
    layers = fault.script.get("layers", [fault.script])
    return next((layer[name] for layer in layers if name in layer), None)


def attempts(history: History, fault: Fault) -> list[Attempt]:
    """Return the requests that belong to a fault, in order of arrival."""
    return [
        attempt
        for attempt in history.attempts
        if attempt.tenant == fault.tenant and fault.began <= attempt.arrived < fault.ended
    ]


def records(history: History, tokens: Iterable[int | None]) -> list[Produced]:
    """Return the produced records of items, each once, in the order of the items."""
    keys = dict.fromkeys(token >> ITEM_BITS for token in tokens if token is not None)
    return [record for key in keys if (record := history.find(key)) is not None]


def undecided(history: History, missing: Sequence[Produced]) -> str | None:
    """Return why nothing can be said of what is missing at the end of a history; None where there was time for all."""
    return broken_off(history) or _starved(history) or _going_on(history, missing)


def broken_off(history: History) -> str | None:
    """Return that a history has no whole drain, so that what is missing may have been on its way; None where it has."""
    drain = history.phase(DRAIN)
    return "the run ended before its drain was over" if drain is None or not drain.complete else None


def pending(history: History, missing: Sequence[Produced]) -> str | None:
    """Return why these may yet have been finished; a starved harness is no reason once they were passed over."""
    passed = any(history.committed_past(record) < math.inf for record in missing)
    return broken_off(history) if passed else undecided(history, missing)


def _starved(history: History) -> str | None:
    drain = history.phase(DRAIN)
    return harness.starved(history, drain) if drain else None


def _going_on(history: History, missing: Sequence[Produced]) -> str | None:
    drain = history.phase(DRAIN)
    return draining.going_on(history, drain, missing) if drain else None


def committed_past(history: History, suspects: Sequence[Produced]) -> list[Produced]:
    """Return those of the records that a reading found committed past before they were finished."""
    return [record for record in suspects if history.committed_past(record) < history.finished_at(record)]


def interrupted(history: History, accepted: float, sent: float) -> bool:
    """Whether members or topics changed, so that what was accepted then and not yet committed is rightly sent again."""
    timeout = history.meta.bounds.get("session_timeout")
    settling = 2 * timeout if isinstance(timeout, (int, float)) else 0.0
    return history.interrupted(accepted - settling, sent)
