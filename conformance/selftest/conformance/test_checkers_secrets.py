"""OPS-3: planted credentials appear in no output, metric or error, neither as they are nor encoded."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolane.conformance.checkers import secrets
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.verdict import Finding, Verdict

PASSWORD = "pass/word+1"  # noqa: S105 - planted
KEY = base64.b64encode(b"id:the-key").decode()


def judged(made: Story, folder: Path) -> Finding:
    """The one finding."""
    (found,) = secrets.check(made.load(folder))
    return found


def planted() -> Story:
    """Two credentials, one request that was refused for its own, and an output that says so."""
    made = story(judges=("OPS-3",))
    made.meta["secrets"] = [KEY, PASSWORD]
    made.attempt("h0", [made.produce("h0", 1)], 2, status=401, items=None)
    made.output.append("401 from h0")
    made.scrapes.append({"began": 3, "at": 3.1, "member": "0", "text": "up 1\n"})
    return made


def test_an_output_without_credentials_passes(tmp_path: Path) -> None:
    """It was searched, and errors about credentials were due."""
    assert judged(planted(), tmp_path).verdict is Verdict.PASS


@pytest.mark.parametrize("text", [KEY, PASSWORD, "the-key", quote(PASSWORD, safe="")])
@pytest.mark.parametrize("where", ["the output", "the metrics", "the dead letters", "the errors"])
def test_a_credential_anywhere_is_a_violation(text: str, where: str, tmp_path: Path) -> None:
    """As it is, decoded, or quoted for a URL; the finding does not show it."""
    made = planted()
    tell: dict[str, Callable[[], None]] = {
        "the output": lambda: made.output.append(f"headers: {text}"),
        "the metrics": lambda: made.scrapes[0].update(text=f'x{{key="{text}"}} 1\n'),
        "the dead letters": lambda: made.put_aside(made.produce("h0", 4), 5, reason=text),
        "the errors": lambda: made.event(5, "wrong", "refused", field="x", code=1, seconds=1, words=f"x: {text}"),
    }
    tell[where]()
    finding = judged(made, tmp_path)
    assert finding.verdict is Verdict.FAIL
    assert where in finding.summary
    assert text not in finding.summary


@given(before=st.binary(max_size=20), after=st.binary(max_size=20), secret=st.text("abc123-_", min_size=8, max_size=20))
def test_every_base64_of_a_text_with_a_secret_is_found(before: bytes, after: bytes, secret: str) -> None:
    """Wherever in it the secret begins: a basic authorization has the user's name before it."""
    encoded = base64.b64encode(before + secret.encode() + after).decode()
    assert any(needle in encoded for form, needle in secrets.forms(secret) if form == "in base64")


@given(other=st.binary(max_size=60), secret=st.text("abcdefghijklmnopqrstuvwxyz", min_size=12, max_size=20))
def test_what_has_no_secret_in_it_is_not_taken_for_one(other: bytes, secret: str) -> None:
    """Not even by chance."""
    encoded = base64.b64encode(other).decode()
    assert secret.encode() in other or not any(needle in encoded for _, needle in secrets.forms(secret))


@pytest.mark.parametrize("lacking", ["secrets", "refusals", "output"])
def test_what_was_not_tried_is_no_verdict(lacking: str, tmp_path: Path) -> None:
    """No credentials, no error about any, or nothing to search."""
    made = planted()
    if lacking == "secrets":
        made.meta["secrets"] = []
    if lacking == "refusals":
        made.attempts = []
    if lacking == "output":
        made.output, made.scrapes = [], []
    assert judged(made, tmp_path).verdict is Verdict.INCONCLUSIVE
