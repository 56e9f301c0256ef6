"""TEN-2: nothing of one tenant at another's cluster, accepted or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import tenancy
from isolane.conformance.selftest.conformance.builders import RUN, Story, story
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Finding, Verdict


def judged(made: Story, folder: Path) -> Finding:
    """The finding on TEN-2."""
    (finding,) = tenancy.check(made.load(folder))
    return finding


def delivered() -> Story:
    """Two tenants' records, each at its own cluster."""
    made = story()
    made.flow("h0", 0, 2, rate=10)
    made.flow("h1", 0, 2, rate=10)
    return made


def test_records_at_their_own_clusters_pass(tmp_path: Path) -> None:
    """With what was seen beside it."""
    finding = judged(delivered(), tmp_path)
    assert finding.verdict is Verdict.PASS
    assert (finding.figures["items sent"].value, finding.figures["tenants reached"].value) == (40, 2)


@pytest.mark.parametrize(("status", "items", "took"), [(200, 201, 0.01), (503, None, 0.01), (200, None, None)])
def test_one_record_at_a_foreign_cluster_is_a_violation(
    tmp_path: Path, status: int, items: int | None, took: float | None
) -> None:
    """Being refused, or not answered, does not undo that it was sent; the finding names the record and the cluster."""
    made = delivered()
    token = made.produce("h0", 3)
    own = made.produce("h1", 3)
    made.attempt("h1", [own, token], 3.1, status=status, items=items, took=took)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert finding.summary == (
        "records sent to a foreign cluster: 1; first managed_otlp.logs.h0/0@20, owned by h0, at h1's"
    )
    assert finding.evidence == (str(token),)
    assert "request 41 to h1's cluster" in "\n".join(finding.story)


def test_a_record_of_a_topic_that_nobody_owns_belongs_to_no_cluster(tmp_path: Path) -> None:
    """It must be sent nowhere."""
    made = delivered()
    made.meta["topics"][0]["tenant"] = None
    made.attempt("h1", [Token(RUN, 0, 0, 0)], 3.1)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert "a record of managed_otlp.logs.sick, owned by no tenant, at h1's" in finding.summary


def test_items_without_a_token_of_this_run_are_counted_and_accuse_nobody(tmp_path: Path) -> None:
    """Leftovers of an earlier run, or documents that carry no token."""
    made = delivered()
    made.attempt("h1", [None, Token(RUN + 1, 1, 0, 0)], 3.1)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.PASS
    assert finding.figures["items without a token of this run"].value == 2


def test_one_tenant_with_traffic_proves_nothing(tmp_path: Path) -> None:
    """Nothing could have been mixed up."""
    made = story()
    made.flow("h0", 0, 2, rate=10)
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "to mix anything up: 1" in finding.summary


def test_a_scenario_of_one_tenant_is_not_about_tenancy(tmp_path: Path) -> None:
    """There is no finding where there is no other tenant."""
    assert tenancy.check(story(healthy=0).load(tmp_path)) == []
