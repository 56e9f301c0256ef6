"""The reference's unit tests notice when what they are about is changed."""

from __future__ import annotations

import pytest

pytest.importorskip("cosmic_ray", reason="cosmic-ray is installed in the environment `mutants` only")

from isolane.conformance.selftest import mutants

LEAST = 0.9
"""The part of all mutants of a module that its tests must notice."""


def test_a_mutant_differs_in_one_place() -> None:
    """It names the line; none is there twice, and none is the module itself."""
    made = list(mutants.mutants("offsets"))
    assert len({mutant.source for mutant in made}) == len(made) > 10
    follows = next(mutant for mutant in made if mutant.operator == "ReplaceComparisonOperator_Gt_GtE")
    assert (follows.before.strip(), follows.after.strip()) == (
        "return offset > self._last",
        "return offset >= self._last",
    )


def test_a_change_is_noticed_and_no_change_is_not() -> None:
    """The tests run on what was changed, not on what was imported before; as it is, a module passes them."""
    mutants.warm_up()
    accepts_twice = next(each for each in mutants.mutants("offsets") if each.after.strip() == "if offset < self._last:")
    assert not mutants.survives(accepts_twice)
    assert mutants.survives(mutants.unchanged("offsets"))


@pytest.mark.nightly
@pytest.mark.parametrize("module", mutants.PURE)
def test_unit_tests_notice_what_is_changed(module: str) -> None:
    """Nine of ten mutants at least; those that survive are printed, to be explained or met with a test."""
    mutants.warm_up()
    made = list(mutants.mutants(module))
    survivors = [mutant for mutant in made if mutants.survives(mutant)]
    for survivor in survivors:
        print(survivor)  # noqa: T201 - pytest shows it with -rP, and when this fails
    noticed = len(made) - len(survivors)
    assert noticed >= LEAST * len(made), f"{noticed} of {len(made)} were noticed"
