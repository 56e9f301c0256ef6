"""Schedules as files, so that what failed can be run again by anybody."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from isolane.conformance.simulation.choice import Deviation
from isolane.conformance.simulation.plan import Plan, Step
from isolane.conformance.simulation.schedule import Schedule
from isolane.conformance.simulation.world import World


class ReplayError(Exception):
    """A file is not a schedule; the message names file, field, value and rule."""


class Replay(BaseModel):
    """A schedule, and of what it is one.

    Attributes:
        version: Of the format.
        target: The name of what was run.
        rule: What it broke; None if nothing.
        plan: What is done.
        deviations: Where it leaves the default order.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    target: str
    rule: str | None
    plan: Plan
    deviations: tuple[Deviation, ...]

    @property
    def schedule(self) -> Schedule:
        """To be run."""
        return Schedule(self.plan, self.deviations)

    def write(self, path: Path) -> None:
        """Write it as JSON; folders are made."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{self.model_dump_json(indent=1)}\n")

    @classmethod
    def read(cls, path: Path) -> Replay:
        """Read what `write` has written.

        Raises:
            ReplayError: It is something else, or cannot be read.
        """
        try:
            replay = cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise ReplayError(f"{path}: {error.strerror}") from error
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            raise ReplayError(f"{path}: {field}: {first['input']!r} is not allowed: {first['msg']}") from error
        for step in replay.plan.steps:
            _check(path, step)
        return replay


def _check(path: Path, step: Step) -> None:
    allowed = {name for name, method in vars(World).items() if callable(method) and not name.startswith("_")}
    if step.action not in allowed:
        raise ReplayError(f"{path}: plan.steps: {step.action!r} is no action; there are {', '.join(sorted(allowed))}")
