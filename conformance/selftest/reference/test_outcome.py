"""What replies of clusters mean: every status, and every way in which a reply can lie."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolane.reference.outcome import REPLY_LIMIT, Outcome, Reply, judge, retry_after

ELASTICSEARCH = {"x-elastic-product": "Elasticsearch"}
ACCEPTED, RETRYABLE, ENVIRONMENT = Outcome.ACCEPTED, Outcome.RETRYABLE, Outcome.ENVIRONMENT
CONDEMNED, TOO_LARGE = Outcome.CONDEMNED, Outcome.TOO_LARGE


def item(identity: str, status: object, kind: str | None = None) -> dict[str, Any]:
    """Return an item of a bulk reply; a `kind` makes it an error."""
    error = {} if kind is None else {"error": {"type": kind, "reason": f"because of {identity}"}}
    return {"create": {"_id": identity, "status": status, **error}}


def reply(items: object, *, errors: object = False) -> bytes:
    """Return the body of a bulk reply."""
    return orjson.dumps({"took": 1, "errors": errors, "items": items})


def judged(body: bytes, *ids: str) -> Reply:
    """Judge a 200 from Elasticsearch."""
    return judge(200, ELASTICSEARCH, body, ids)


def test_answer_that_was_not_read_to_its_end_is_to_be_split() -> None:
    """MEM-3: sent again unchanged, the same documents would get the same answer for ever; alone, none is condemned."""
    body = reply([item("a", 201)] * 2)[:-1] + b" " * REPLY_LIMIT
    assert judged(body, "a", "b").request is TOO_LARGE
    assert judged(body, "a").request is RETRYABLE
    assert judge(200, {}, body, ["a", "b"]).request is RETRYABLE


@pytest.mark.parametrize(
    ("status", "together", "alone"),
    [
        (200, RETRYABLE, RETRYABLE),
        (204, RETRYABLE, RETRYABLE),
        (299, RETRYABLE, RETRYABLE),
        (300, ENVIRONMENT, ENVIRONMENT),
        (302, ENVIRONMENT, ENVIRONMENT),
        (400, TOO_LARGE, CONDEMNED),
        (401, ENVIRONMENT, ENVIRONMENT),
        (403, ENVIRONMENT, ENVIRONMENT),
        (404, ENVIRONMENT, ENVIRONMENT),
        (405, ENVIRONMENT, ENVIRONMENT),
        (408, RETRYABLE, RETRYABLE),
        (409, ENVIRONMENT, ENVIRONMENT),
        (413, TOO_LARGE, CONDEMNED),
        (425, RETRYABLE, RETRYABLE),
        (429, RETRYABLE, RETRYABLE),
        (499, ENVIRONMENT, ENVIRONMENT),
        (500, RETRYABLE, RETRYABLE),
        (503, RETRYABLE, RETRYABLE),
    ],
)
def test_status_of_a_request_decides_for_all_its_documents(status: int, together: Outcome, alone: Outcome) -> None:
    """A refused request has one outcome (DEL-2, DEL-5); 400 and 413 are split until one stands alone (DEL-4)."""
    several, one = judge(status, {}, b"", ["a", "b"]), judge(status, {}, b"", ["a"])
    assert (several.request, list(several.items)) == (together, [together] * 2)
    assert (one.request, list(one.items)) == (alone, [alone])


@pytest.mark.parametrize(
    ("status", "kind", "outcome"),
    [
        (199, None, RETRYABLE),
        (200, None, ACCEPTED),
        (201, None, ACCEPTED),
        (299, None, ACCEPTED),
        (300, "whatever", ENVIRONMENT),
        (409, "version_conflict_engine_exception", ACCEPTED),
        (400, "document_parsing_exception", CONDEMNED),
        (413, "too_large", CONDEMNED),
        (400, "index_closed_exception", ENVIRONMENT),
        (400, "invalid_index_name_exception", ENVIRONMENT),
        (400, "validation_exception", ENVIRONMENT),
        (401, "security_exception", ENVIRONMENT),
        (403, "cluster_block_exception", ENVIRONMENT),
        (404, "index_not_found_exception", ENVIRONMENT),
        (408, "timeout", RETRYABLE),
        (425, "too_early", RETRYABLE),
        (429, "es_rejected_execution_exception", RETRYABLE),
        (499, "whatever", ENVIRONMENT),
        (500, "whatever", RETRYABLE),
        (503, "unavailable_shards_exception", RETRYABLE),
        (0, None, RETRYABLE),
    ],
)
def test_status_of_an_item_decides_for_its_document(status: int, kind: str | None, outcome: Outcome) -> None:
    """Inside a 200 each item has its own outcome, beside others that were accepted (DEL-3)."""
    items = [item("a", 201), item("b", status, kind), item("c", 201)]
    answer = judged(reply(items, errors=kind is not None), "a", "b", "c")
    assert answer.request is None
    assert list(answer.items) == [ACCEPTED, outcome, ACCEPTED]


def test_reasons_are_kept_by_document() -> None:
    """What is dead-lettered later carries its own reason, not its neighbour's."""
    answer = judged(
        reply([item("a", 201), item("b", 429, "busy"), item("c", 400, "parse")], errors=True), "a", "b", "c"
    )
    assert answer.reasons == {1: "status 429: busy: because of b", 2: "status 400: parse: because of c"}
    assert answer.reason == "status 429: busy: because of b"


def test_reason_of_a_refused_request_is_kept() -> None:
    """People are told what the cluster said, when it said anything that can be read."""
    body = orjson.dumps({"error": {"type": "circuit_breaking_exception", "reason": "too much"}, "status": 429})
    assert judge(429, {}, body, ["a"]).reason == "status 429: circuit_breaking_exception: too much"
    assert judge(502, {}, b"<html>Bad gateway</html>", ["a"]).reason == "status 502"


def test_reason_of_a_refused_request_is_a_few_lines_at_most() -> None:
    """Type and reason are cut after three hundred characters each: a cluster may quote the document."""
    body = orjson.dumps({"error": {"type": "parse", "reason": "x" * 301}, "status": 400})
    assert judge(400, {}, body, ["a"]).reason == f"status 400: parse: {'x' * 300}"


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>fine</html>", b"[]", b"{}", b'"ok"', b'{"items":{}}', b'{"items":null}', b'{"items":[', b"\xff"],
)
def test_body_that_is_no_bulk_reply_confirms_nothing(body: bytes) -> None:
    """A 200 that is not JSON, or not the answer to a bulk request, is retried (DEL-2)."""
    answer = judged(body, "a", "b")
    assert (answer.request, list(answer.items)) == (RETRYABLE, [RETRYABLE, RETRYABLE])


def test_answer_of_another_product_confirms_nothing() -> None:
    """Something in between that answers 200 in Elasticsearch's words, but not in its name, is retried."""
    assert judge(200, {}, reply([item("a", 201)]), ["a"]).request is RETRYABLE


@pytest.mark.parametrize(
    ("items", "errors", "outcomes"),
    [
        pytest.param([item("a", 201)], False, [ACCEPTED, RETRYABLE, RETRYABLE], id="the last are missing"),
        pytest.param([item("b", 201), item("c", 201)], False, [RETRYABLE] * 3, id="the first is missing"),
        pytest.param([{"create": {"status": 201}}], False, [RETRYABLE] * 3, id="missing, and no ids"),
        pytest.param(
            [item("a", 201), item("b", 201), item("c", 201), item("d", 201)], False, [ACCEPTED] * 3, id="one too many"
        ),
        pytest.param(
            [item("x", 201), item("a", 201), item("b", 201), item("c", 201)], False, [RETRYABLE] * 3, id="shift"
        ),
        pytest.param(
            [item("b", 201), item("a", 201), item("c", 201)], False, [RETRYABLE, RETRYABLE, ACCEPTED], id="swap"
        ),
        pytest.param([item("a", 201), item("b", 201), item("c", 201)], True, [RETRYABLE] * 3, id="errors, none shown"),
        pytest.param(
            [item("a", 201), item("b", 409, "version_conflict_engine_exception"), item("c", 201)],
            True,
            [ACCEPTED] * 3,
            id="errors, a conflict shown",
        ),
        pytest.param(
            [item("a", 201), item("b", 503, "x"), item("c", 400, "y")],
            False,
            [ACCEPTED, RETRYABLE, CONDEMNED],
            id="no errors, two shown",
        ),
        pytest.param(
            [item("a", 201, "x"), item("b", 201), None], True, [RETRYABLE, ACCEPTED, RETRYABLE], id="201 with error"
        ),
        pytest.param(
            [item("a", "201"), item("b", status=True), item("c", 201.0)], False, [RETRYABLE] * 3, id="status types"
        ),
        pytest.param(
            [
                {"index": {"_id": "a", "status": 201}},
                {"create": {"_id": "b", "status": 201}, "index": {}},
                {"create": 201},
            ],
            False,
            [RETRYABLE] * 3,
            id="another operation",
        ),
        pytest.param([{"create": {"status": 201}}] * 3, False, [ACCEPTED] * 3, id="no ids"),
        pytest.param([{"create": {"_id": None, "status": 201}}] * 3, False, [RETRYABLE] * 3, id="null ids"),
        pytest.param(
            [{"create": {"_id": i, "status": 429, "error": [["x"]]}} for i in "abc"], True, [RETRYABLE] * 3, id="odd"
        ),
        pytest.param(
            [{"create": {"_id": i, "status": 400, "error": {"type": ["x"]}}} for i in "abc"],
            True,
            [CONDEMNED] * 3,
            id="odder",
        ),
    ],
)
def test_reply_confirms_only_what_it_states(items: list[Any], errors: bool, outcomes: list[Outcome]) -> None:  # noqa: FBT001 - a column of the table
    """A reply with too few items, or one that contradicts itself, confirms nothing that it does not state (DEL-3)."""
    assert list(judged(reply(items, errors=errors), "a", "b", "c").items) == outcomes


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0.25", 0.25),
        ("0", 0.0),
        (" 3 ", 3.0),
        ("999999999", 86_400.0),
        ("Wed, 21 Oct 2026 07:28:30 GMT", 30.0),
        ("Wed, 21 Oct 2026 07:27:00 GMT", 0.0),
        ("", None),
        ("-1", None),
        ("nan", None),
        ("soon", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str, seconds: float | None) -> None:
    """Both forms of the header are honoured, within a day; what makes no sense is ignored (DEL-7)."""
    headers = {"retry-after": header, "date": "Wed, 21 Oct 2026 07:28:00 GMT"}
    assert retry_after(headers) == seconds
    assert judge(503, headers, b"", ["a"]).retry_after == seconds


def test_date_without_a_date_to_count_from_is_ignored() -> None:
    """Without the cluster's own clock a date means nothing."""
    assert retry_after({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}) is None


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_retry_after_is_read_or_ignored(header: str, date: str) -> None:
    """No header raises, and none asks for a negative wait."""
    seconds = retry_after({"retry-after": header, "date": date})
    assert seconds is None or 0 <= seconds <= 86_400


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 600) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
results = st.fixed_dictionaries(
    {},
    optional={
        "_id": st.sampled_from("abc") | json_values,
        "status": st.sampled_from([201, 409, 429, 400]) | json_values,
    }
    | {"error": st.fixed_dictionaries({}, optional={"type": json_values, "reason": json_values}) | json_values},
)
bulk_items = st.dictionaries(st.sampled_from(["create", "index"]), results, max_size=2) | json_values
bulk_replies = st.fixed_dictionaries({}, optional={"errors": json_values, "items": st.lists(bulk_items, max_size=4)})


@given(st.integers(-1, 999), st.binary(max_size=200), st.lists(st.text(max_size=3), min_size=1, max_size=3))
def test_any_bytes_are_judged_and_accept_nothing(status: int, body: bytes, ids: list[str]) -> None:
    """No bytes raise, and no document is accepted by chance; there is an outcome for each document."""
    answer = judge(status, ELASTICSEARCH, body, ids)
    assert len(answer.items) == len(ids)
    assert ACCEPTED not in answer.items


@given(bulk_replies)
def test_any_bulk_reply_accepts_only_what_it_states(document: dict[str, Any]) -> None:
    """Whatever else a reply says, a document is accepted only by an item in its place that says so."""
    ids = ["a", "b", "c"]
    answer = judged(orjson.dumps(document), *ids)
    assert len(answer.items) == 3
    for position, outcome in enumerate(answer.items):
        if outcome is ACCEPTED:
            stated = document["items"][position]["create"]
            assert stated["status"] in {*range(200, 300), 409}
            assert stated.get("_id", ids[position]) == ids[position]
            assert stated["status"] == 409 or stated.get("error") is None
