"""Real clusters, of which only searching tells: DEL-1, DEL-9, OFF-1 and TEN-2 from the documents that were found."""

from __future__ import annotations

from pathlib import Path

import pytest

from isolane.conformance.checkers import delivery, documents, judge, offsets, tenancy
from isolane.conformance.history_found import NODE
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.tokens import Token
from isolane.conformance.verdict import Finding, Verdict

TENANTS = ("sick", "h0")


def searched(*, until: int = 20) -> Story:
    """Two tenants, a record a second of each for ten seconds, searched and committed each second, and a drain.

    A search at second N finds what was produced before; its commit is seen half a second later. At second 6 the member
    is killed, and one starts at 7: two records of each tenant were found by then, and not committed.
    """
    made = story(healthy=1, judges=("DEL-1", "DEL-9", "OFF-1", "TEN-2"))
    made.phase("control", 0)
    made.event(0, "process", "started", member=0)
    for second in range(10):
        for tenant in TENANTS:
            token = made.produce(tenant, second + 0.2)
            made.find(tenant, [token], second, second + 1.1)
    for second in range(until):
        for tenant in TENANTS:
            made.search(tenant, second)
        offset = 5 if second == 6 else min(second, 10)
        made.commit(second + 0.5, {"0/0": offset, "1/0": offset})
    made.event(6.1, "process", "killed", member=0)
    made.event(7.2, "process", "started", member=0)
    made.phase("drain", 10)
    made.phase("end", 15)
    return made


def verdicts(made: Story, folder: Path) -> dict[str, Verdict]:
    """What all checkers say of each requirement that they judge."""
    return {finding.requirement: finding.verdict for finding in judge(made.load(folder))}


def lost(made: Story, token: Token) -> None:
    """Nobody ever found a document with this token."""
    made.found = [line for line in made.found if str(token) not in line.get("tokens", ())]


def first(made: Story, tenant: str) -> Token:
    """The first record of a tenant."""
    return Token.parse(next(line["token"] for line in made.produced if line["topic"] == made.topic(tenant)))


def test_a_sane_run_passes_everything_that_it_declares(tmp_path: Path) -> None:
    """With searches instead of a ledger; and nothing else is judged by guesswork."""
    said = verdicts(searched(), tmp_path)
    assert {said[name] for name in ("DEL-1", "DEL-9", "OFF-1", "OFF-2", "TEN-2")} == {Verdict.PASS}
    assert Verdict.FAIL not in said.values()


class TestDelivery:
    """DEL-1."""

    def judged(self, made: Story, folder: Path) -> Finding:
        """The finding."""
        (finding,) = delivery.check(made.load(folder))
        return finding

    def test_what_was_never_found_is_lost(self, tmp_path: Path) -> None:
        """Committed past, and in no cluster in the end: the finding names it and tells its story."""
        made = searched()
        token = first(made, "h0")
        lost(made, token)
        finding = self.judged(made, tmp_path)
        assert finding.verdict is Verdict.FAIL
        assert finding.evidence == (str(token),)
        assert "past this record" in "\n".join(finding.story)

    def test_what_was_there_and_is_gone_is_lost(self, tmp_path: Path) -> None:
        """The last search is the truth, not the first one."""
        made = searched()
        token = first(made, "h0")
        made.lose("h0", str(token), 9)
        finding = self.judged(made, tmp_path)
        assert (finding.verdict, finding.evidence) == (Verdict.FAIL, (str(token),))

    def test_what_moved_is_not_gone(self, tmp_path: Path) -> None:
        """Another document holds it."""
        made = searched()
        token = first(made, "h0")
        made.find("h0", [token], 8, 9, index="logs-000002")
        made.lose("h0", str(token), 10)
        assert self.judged(made, tmp_path).verdict is Verdict.PASS

    def test_a_document_that_another_took_the_place_of_is_gone(self, tmp_path: Path) -> None:
        """Two records with one id leave one document."""
        made = searched()
        token = first(made, "h0")
        other = made.produce("h0", 8)
        made.find("h0", [other], 8, 9, name=str(token))
        assert self.judged(made, tmp_path).evidence == (str(token),)

    def test_a_foreign_cluster_does_not_count(self, tmp_path: Path) -> None:
        """What another tenant's cluster holds has not been delivered."""
        made = searched()
        token = made.produce("h0", 8)
        made.find("sick", [token], 8, 9)
        assert self.judged(made, tmp_path).evidence == (str(token),)

    @pytest.mark.parametrize("error", [None, "it answers 503"])
    def test_without_a_last_search_nothing_is_known(self, error: str | None, tmp_path: Path) -> None:
        """A cluster that was not searched after the end, or not completely, may hold what was not found."""
        made = searched(until=14)
        made.search("sick", 16)
        if error:
            made.search("h0", 16, error=error)
        lost(made, first(made, "h0"))
        finding = self.judged(made, tmp_path)
        assert finding.verdict is Verdict.INCONCLUSIVE
        assert f"h0's cluster could not be searched in the end: {error or 'the run'}" in finding.summary


class TestOffsets:
    """OFF-1."""

    def judged(self, made: Story, folder: Path) -> Finding:
        """The finding."""
        (finding,) = offsets.check(made.load(folder))
        return finding

    def test_a_commit_past_what_the_next_search_does_not_find_was_too_early(self, tmp_path: Path) -> None:
        """Read first, searched then: what is found only by a later search was not there. The story has both."""
        made = searched()
        token = made.produce("h0", 10)
        made.commit(11, {"1/0": 11})
        made.find("h0", [token], 12, 13.1)
        finding = self.judged(made, tmp_path)
        assert finding.verdict is Verdict.FAIL
        assert finding.evidence == (str(token),)
        text = "\n".join(finding.story)
        assert f"found in h0's cluster, logs/{token}; a search 1.100 s before had not" in text
        assert "committed offset 11 observed: past this record" in text
        assert "requests open" not in text

    def test_a_commit_between_two_searches_is_not_blamed(self, tmp_path: Path) -> None:
        """It may have been there when it was committed."""
        made = searched()
        token = made.produce("h0", 10)
        made.find("h0", [token], 10.5, 12.1)
        made.commit(11, {"1/0": 11})
        assert self.judged(made, tmp_path).verdict is Verdict.PASS

    def test_a_node_that_was_not_there_has_accepted_nothing(self, tmp_path: Path) -> None:
        """Whatever was sent after a node had been killed, and committed before it was started again, was too early."""
        made = searched()
        made.events.append({"at": 9.9, "kind": "fault", "name": NODE, "tenant": "h0"})
        token = made.produce("h0", 10)
        made.commit(11, {"1/0": 11})
        made.events.append({"at": 12, "kind": "heal", "name": NODE, "tenant": "h0"})
        made.find("h0", [token], 9.8, 13.1)
        finding = self.judged(made, tmp_path)
        assert (finding.verdict, finding.evidence) == (Verdict.FAIL, (str(token),))
        assert "which was finished only 1.000 s later" in finding.summary

    def test_what_was_sent_before_a_node_was_killed_may_have_been_accepted(self, tmp_path: Path) -> None:
        """A reply may have left the node just before."""
        made = searched()
        token = made.produce("h0", 9.85)
        made.events.append({"at": 9.9, "kind": "fault", "name": NODE, "tenant": "h0"})
        made.commit(11, {"1/0": 11})
        made.events.append({"at": 12, "kind": "heal", "name": NODE, "tenant": "h0"})
        made.find("h0", [token], 9.8, 13.1)
        assert self.judged(made, tmp_path).verdict is Verdict.PASS

    def test_too_few_searches_tell_nothing(self, tmp_path: Path) -> None:
        """What is found by the last one only may have come at any time."""
        made = searched()
        made.found = [line for line in made.found if not (line["e"] == "searched" and 2 < line["began"] < 19)]
        finding = self.judged(made, tmp_path)
        assert finding.verdict is Verdict.INCONCLUSIVE
        assert finding.figures["searches of a cluster, at least"].value == 4


class TestDocuments:
    """DEL-9."""

    def judged(self, made: Story, folder: Path) -> Finding:
        """The finding."""
        (finding,) = documents.check(made.load(folder))
        return finding

    def test_figures(self, tmp_path: Path) -> None:
        """Documents, items, and what had to be delivered again."""
        finding = self.judged(searched(), tmp_path)
        assert finding.verdict is Verdict.PASS
        assert finding.figures["documents"].value == finding.figures["items in them"].value == 20
        assert finding.figures["items that had to be delivered again"].value == 4

    def test_an_item_with_two_documents_was_written_twice(self, tmp_path: Path) -> None:
        """A replay under another id is a second document."""
        made = searched()
        token = first(made, "h0")
        made.find("h0", [token], 8, 9, name="another")
        finding = self.judged(made, tmp_path)
        assert (finding.verdict, finding.evidence) == (Verdict.FAIL, (str(token),))

    def test_a_replay_that_made_a_second_document_was_one(self, tmp_path: Path) -> None:
        """What was there when the member died had to be delivered again, whatever became of it."""
        made = searched()
        replayed = made.produced[11]["token"]
        made.find("h0", [Token.parse(replayed)], 8, 9, name="another")
        finding = self.judged(made, tmp_path)
        assert finding.evidence == (replayed,)
        assert finding.figures["items that had to be delivered again"].value == 4

    def test_without_a_replay_nothing_is_proven(self, tmp_path: Path) -> None:
        """Everything that was there had been committed when the member died."""
        made = searched()
        for line in made.commits:
            line["offsets"] = dict.fromkeys(line["offsets"], 10)
        finding = self.judged(made, tmp_path)
        assert finding.verdict is Verdict.INCONCLUSIVE
        assert finding.figures["items that had to be delivered again"].value == 0

    def test_an_answer_that_was_lost_on_its_way_is_a_replay(self, tmp_path: Path) -> None:
        """What it was about had to be sent again by whoever had the partition: no kill is needed for that."""
        made = searched()
        for line in made.commits:
            line["offsets"] = dict.fromkeys(line["offsets"], 10)
        made.event(4, "fault", "swallow-1", tenant="h0")
        made.event(5, "heal", "swallow-1", tenant="h0", bitten=2)
        finding = self.judged(made, tmp_path)
        assert finding.verdict is Verdict.PASS
        assert finding.figures["requests whose answers were lost"].value == 2

    def test_a_member_that_is_not_the_last_leaves_nothing_certain(self, tmp_path: Path) -> None:
        """Another one may have delivered meanwhile."""
        made = searched()
        made.event(5, "process", "started", member=1)
        assert self.judged(made, tmp_path).figures["items that had to be delivered again"].value == 0

    def test_scripted_clusters_are_judged_by_their_replies(self, tmp_path: Path) -> None:
        """Without a search there is no finding."""
        made = searched()
        made.found.clear()
        assert documents.check(made.load(tmp_path)) == []


class TestTenancy:
    """TEN-2."""

    def test_a_document_in_a_foreign_cluster(self, tmp_path: Path) -> None:
        """The record is named, with its owner and where it was found."""
        made = searched()
        token = made.produce("h0", 8)
        made.find("h0", [token], 8, 9)
        made.find("sick", [token], 8, 9)
        (finding,) = tenancy.check(made.load(tmp_path))
        assert (finding.verdict, finding.evidence) == (Verdict.FAIL, (str(token),))
        assert "owned by h0, at sick's" in finding.summary

    def test_documents_without_a_token_are_counted(self, tmp_path: Path) -> None:
        """They may be anybody's: an implementation's own."""
        made = searched()
        made.found.append(
            {"e": "found", "tenant": "h0", "index": "own", "id": "1", "at": 1, "seen": 2, "tokens": []},
        )
        (finding,) = tenancy.check(made.load(tmp_path))
        assert finding.verdict is Verdict.PASS
        assert finding.figures["items without a token of this run"].value == 1


def test_how_vague_acceptances_are(tmp_path: Path) -> None:
    """By the longest time between two searches, at most; a ledger is exact."""
    made = searched()
    made.find("h0", [made.produce("h0", 9)], 9, 12.5)
    assert made.load(tmp_path / "found").vagueness == pytest.approx(3.5)
    made.found.clear()
    assert made.load(tmp_path / "none").vagueness == 0
