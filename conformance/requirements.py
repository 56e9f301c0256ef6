"""The catalogue of requirements, read from ``catalogue.toml``: the one place that says what each id means."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Mapping
from enum import StrEnum
from importlib import resources
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class UnknownRequirementError(LookupError):
    """Raised for an id that the catalogue does not have; `near` are the ids most like it."""

    def __init__(self, identifier: str, near: list[str]) -> None:
        """Say what was asked for and what may have been meant."""
        hint = f"; did you mean {' or '.join(near)}?" if near else f"; there are {FIRST_ID} to {LAST_ID}"
        super().__init__(f"no requirement {identifier!r}{hint}")
        self.near = near


class Level(StrEnum):
    """How binding a requirement is."""

    MUST = "M"
    FEATURE = "F"
    SHOULD = "S"

    @property
    def words(self) -> str:
        """The level as people read it."""
        return {Level.MUST: "MUST", Level.FEATURE: "MUST where claimed", Level.SHOULD: "SHOULD"}[self]


class Seen(StrEnum):
    """Where a requirement can be seen."""

    BLACK_BOX = "B"
    METRICS = "M"
    SIMULATION = "S"

    @property
    def words(self) -> str:
        """The way of seeing, in words."""
        return {
            Seen.BLACK_BOX: "black box",
            Seen.METRICS: "the implementation's metrics",
            Seen.SIMULATION: "simulation",
        }[self]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Requirement(_Frozen):
    """One requirement.

    Attributes:
        id: It never changes and is never reused.
        level: How binding it is.
        feature: The feature whose claim makes it binding; None for every other level.
        seen: Where it can be seen.
        statement: The requirement itself. Bounds written ``<like this>`` come from the descriptor.
        why: What goes wrong in practice without it.
        how: How it is judged.
        reports: Public accounts of pipelines that broke it, as ``owner/repository#number`` on GitHub.
    """

    id: str
    level: Level
    feature: str | None = None
    seen: tuple[Seen, ...]
    statement: str
    why: str
    how: str
    reports: tuple[Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+#\d+$")], ...] = ()

    @property
    def family(self) -> str:
        """The part of the id before the number."""
        return self.id.partition("-")[0]


class Family(_Frozen):
    """Requirements of one subject: its title, the profile it belongs to, and what holds for all of them."""

    title: str
    profile: str
    note: str = ""


class Catalogue(_Frozen):
    """All requirements, in order, with the profiles, families and features they refer to, by name."""

    version: Annotated[str, Field(pattern=r"^\d+\.\d+$")]
    profiles: Mapping[str, str]
    features: Mapping[str, str]
    families: Mapping[str, Family]
    requirements: Mapping[str, Requirement]

    def requirement(self, identifier: str) -> Requirement:
        """Return the requirement with this id, in whatever case.

        Raises:
            UnknownRequirementError: There is none; the error names near ones.
        """
        wanted = identifier.upper()
        if wanted not in self.requirements:
            raise UnknownRequirementError(identifier, difflib.get_close_matches(wanted, self.requirements, n=3))
        return self.requirements[wanted]

    def profile_of(self, requirement: Requirement) -> str:
        """Return the name of the profile that the requirement belongs to."""
        return self.families[requirement.family].profile

    def of_profile(self, profile: str) -> tuple[Requirement, ...]:
        """Return a profile's requirements, in order.

        Raises:
            LookupError: There is no such profile; the error names those there are.
        """
        if profile not in self.profiles:
            raise LookupError(f"no profile {profile!r}; the profiles are {', '.join(self.profiles)}")
        return tuple(each for each in self.requirements.values() if self.profile_of(each) == profile)

    def split(self, ids: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the profiles of which all requirements are among these, and the ids that belong to none of those."""
        whole = tuple(
            profile for profile in self.profiles if {each.id for each in self.of_profile(profile)} <= set(ids)
        )
        return whole, tuple(each for each in ids if self.profile_of(self.requirement(each)) not in whole)


def _load() -> Catalogue:
    text = resources.files("isolane.conformance").joinpath("catalogue.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    data["requirements"] = {key: {"id": key, **value} for key, value in data["requirements"].items()}
    return Catalogue.model_validate(data)


CATALOGUE = _load()
"""The catalogue of this version of the suite."""

FIRST_ID, *_, LAST_ID = CATALOGUE.requirements


def requirement(identifier: str) -> Requirement:
    """Return the catalogue's requirement with this id.

    Raises:
        UnknownRequirementError: There is none; the error names near ones.
    """
    return CATALOGUE.requirement(identifier)
