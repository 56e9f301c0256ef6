"""Expected verdicts: what a run on a known implementation must say, compared both ways."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from isolane.conformance.depth import DepthName
from isolane.conformance.result import RunResult
from isolane.conformance.verdict import Verdict

FOLDER = Path(__file__).parent / "expected"


class Expectation(BaseModel):
    """Which requirements a run must pass and which it must fail; every other one must not be judged.

    Attributes:
        depth: The run's depth.
        profile: The one profile that it judges; None for all that the depth declares.
        implementation: Who is judged.
        exit_code: How the run must end.
        passed: Ids of requirements.
        failed: The same, those that are SHOULD among them.
        undecided: Those that a run may pass or leave inconclusive: at times it gets too little of what a verdict takes.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    depth: DepthName
    profile: str | None = None
    implementation: str
    exit_code: int
    passed: tuple[str, ...] = Field(alias="pass")
    failed: tuple[str, ...] = Field(alias="fail")
    undecided: tuple[str, ...] = ()

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read an expected-verdict file: ``NAME.toml``, or ``NAME.WHAT.toml`` where there is more than one of NAME.

        Raises:
            OSError: It cannot be read.
            ValueError: It is not TOML, or says something else.
        """
        implementation = path.name.partition(".")[0]
        return cls.model_validate({"implementation": implementation, **tomllib.loads(path.read_text())})

    @property
    def arguments(self) -> tuple[str, ...]:
        """What `isolane verify` is called with for such a run."""
        profile = ("--profile", self.profile) if self.profile else ()
        return (self.implementation, "--depth", self.depth, *profile)

    def differences(self, result: RunResult) -> list[str]:
        """What the run says otherwise, a line each: expected verdicts that are missing, and others than expected."""
        expected = dict.fromkeys(self.passed, Verdict.PASS) | dict.fromkeys(self.failed, Verdict.FAIL)
        seen = {
            outcome.requirement.id: outcome
            for outcome in result.outcomes
            if outcome.verdict in {Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE}
        }
        for name in self.undecided:
            if name in seen and seen[name].verdict is not Verdict.FAIL:
                expected[name] = seen[name].verdict
        lines = [
            f"{name}: expected {expected.get(name, Verdict.NOT_JUDGED)}, was {outcome.verdict}: {outcome.reason}"
            for name, outcome in seen.items()
            if expected.get(name) is not outcome.verdict
        ]
        lines += [
            f"{name}: expected {verdict}, was not judged" for name, verdict in expected.items() if name not in seen
        ]
        if result.exit_code != self.exit_code:
            lines.append(f"exit code: expected {self.exit_code}, was {result.exit_code:d}")
        return lines
