"""Requests: what is to be verified, made from what a person typed."""

from __future__ import annotations

import difflib
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from isolane.conformance.clusters import CLUSTER_KINDS, ClusterKind
from isolane.conformance.depth import DEPTHS, depth
from isolane.conformance.engine import Request
from isolane.conformance.requirements import CATALOGUE, UnknownRequirementError, requirement
from isolane.conformance.result import RunResult
from isolane.conformance.scenarios.catalogue import SCENARIOS, judging
from isolane.fixtures.implementations import descriptor
from isolane.fixtures.implementations.descriptor import Descriptor

RUNS = Path("isolane-runs")
"""Where evidence goes when no other folder is named."""


class RequestError(ValueError):
    """A request cannot be understood; the message names the option, the value and what is allowed."""


def request(
    implementation: str,
    *,
    depth_name: str = "smoke",
    seed: int | None = None,
    out: Path | None = None,
    ids: Sequence[str] = (),
    profiles: Sequence[str] = (),
    names: Sequence[str] = (),
    clusters: ClusterKind = "scripted",
    joining: bool = False,
    baseline: RunResult | None = None,
) -> Request:
    """A request for the implementation of that name or descriptor path; its folder is made.

    Args:
        implementation: A packaged name, or a path to a descriptor.
        depth_name: How long to look.
        seed: What load is drawn from; chosen when not given.
        out: A folder that is empty or not there yet; one below `isolane-runs` when not given.
        ids: Requirements to judge only, comma-separated in each.
        profiles: Profiles to judge only, likewise.
        names: Scenarios to run only, likewise.
        clusters: What the tenants' clusters are.
        joining: Whether the folder is no business of this process: another has made it, or nothing will be run.
        baseline: The earlier result whose violations will not count; one of the same implementation, in any version.

    Raises:
        DescriptorError: No such implementation, or its descriptor is wrong.
        RequestError: Another value is wrong.
    """
    known = descriptor.find(implementation)
    _check_names(known)
    if baseline is not None and baseline.implementation.name != known.name:
        other = baseline.implementation.name
        raise RequestError(f"--baseline: this is a report of {other!r}; allowed here: one of {known.name!r}")
    if depth_name not in DEPTHS:
        raise RequestError(f"--depth: {depth_name!r}: allowed: {', '.join(DEPTHS)}")
    if seed is not None and seed < 0:
        raise RequestError(f"--seed: {seed}: allowed: 0 and more")
    scope = _scope(profiles, ids)
    made = Request(
        descriptor=known,
        asked=implementation,
        depth=depth(depth_name),
        seed=random.SystemRandom().randrange(1 << 32) if seed is None else seed,
        scope=scope,
        folder=(out or RUNS / f"{known.name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}").absolute(),
        names=_named(names),
        clusters=clusters,
    )
    _check_claims(made)
    for only in [replace(made, names=(name,)) for name in made.names] or [made]:
        if not (only.scenarios or (made.scenarios and only.left_out)):
            raise RequestError(_nothing_to_run(only))
    if not joining:
        made_folder(made.folder)
    return made


def _check_names(known: Descriptor) -> None:
    """Refuse ids and features that the catalogue does not have: nothing would ever be judged by them."""
    for number, deviation in enumerate(known.known_deviation):
        where = f"{known.file}: known_deviation.{number}.id"
        try:
            exact = requirement(deviation.id).id
        except UnknownRequirementError as error:
            raise RequestError(f"{where}: {error}") from error
        if deviation.id != exact:
            raise RequestError(f"{where}: {deviation.id!r}: allowed here: {exact}")
    for feature in known.features:
        if feature not in CATALOGUE.features:
            near = difflib.get_close_matches(feature, CATALOGUE.features, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            allowed = ", ".join(CATALOGUE.features)
            raise RequestError(f"{known.file}: features.{feature}: unknown feature{hint} (allowed: {allowed})")


def _check_claims(asked: Request) -> None:
    """Refuse what can only end as not claimed, before a minute is spent on it."""
    features = [requirement(identifier).feature for identifier in asked.scope]
    if features and not any(feature is None or asked.descriptor.features.get(feature) for feature in features):
        ids, names = ", ".join(asked.scope), ", ".join(dict.fromkeys(filter(None, features)))
        raise RequestError(f"{ids}: nothing is judged: {asked.descriptor.name} does not claim {names} in [features]")


def _scope(profiles: Sequence[str], ids: Sequence[str]) -> tuple[str, ...]:
    try:
        asked = [requirement(identifier).id for identifier in _split("--only", ids)]
    except UnknownRequirementError as error:
        raise RequestError(f"--only: {error}") from error
    try:
        asked += [each.id for profile in _split("--profile", profiles) for each in CATALOGUE.of_profile(profile)]
    except LookupError as error:
        raise RequestError(f"--profile: {error}") from error
    return tuple(dict.fromkeys(asked))


def _named(values: Sequence[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(_split("--scenario", values)))
    known = [each.name for each in SCENARIOS]
    for name in names:
        if name not in known:
            raise RequestError(f"--scenario: {name!r}: allowed: {', '.join(known)}")
    return names


def _nothing_to_run(asked: Request) -> str:
    for kind in CLUSTER_KINDS:
        if replace(asked, clusters=kind).scenarios:
            here = f"--services elasticsearch={asked.clusters}"
            return f"{here}: nothing of what was asked for can be tried on such; --services elasticsearch={kind} can"
    other = next((name for name in DEPTHS if replace(asked, depth=depth(name)).scenarios), None)
    declaring = [each.name for each in judging(asked.scope)]
    elsewhere = ", ".join(declaring)
    if other is None and (not asked.names or set(asked.names) & set(declaring)):
        ids, where = ", ".join(asked.scope), asked.descriptor.file
        return f"{ids}: nothing is judged: {where} does not say what it takes to try that"
    if other is None:
        what = f"{', '.join(asked.names)}: nothing of what was asked for ({', '.join(asked.scope)}) is judged in it"
        return f"--scenario: {what}; allowed: {elsewhere}"
    what = ", ".join([*asked.names, *asked.scope])
    return (
        f"--depth {asked.depth.name}: nothing of what was asked for ({what}) is judged at it; --depth {other} judges it"
    )


def _split(option: str, values: Sequence[str]) -> list[str]:
    """Return the parts between commas; a value without any, as of a variable that is not set, asks for nothing."""
    parts = []
    for value in values:
        named = [part.strip() for part in value.split(",") if part.strip()]
        if not named:
            raise RequestError(f"{option}: {value!r}: names nothing; leave the option out to judge everything")
        parts += named
    return parts


def made_folder(folder: Path) -> Path:
    """The folder for a run's evidence, made unless it is there.

    Raises:
        RequestError: It cannot be made, or is not empty.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        occupied = any(folder.iterdir())
    except OSError as error:
        raise RequestError(f"the folder for evidence {folder}: {error.strerror}") from error
    if occupied:
        raise RequestError(f"the folder for evidence {folder} is not empty; evidence of two runs must not mix")
    return folder
