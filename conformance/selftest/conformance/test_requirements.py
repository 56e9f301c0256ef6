"""The catalogue is whole, and says what it knows."""

from __future__ import annotations

import pytest

from isolane.conformance.requirements import CATALOGUE, Level, Requirement, UnknownRequirementError, requirement

EVERY = list(CATALOGUE.requirements.values())


@pytest.mark.parametrize("each", EVERY, ids=lambda each: each.id)
def test_every_requirement_explains_itself(each: Requirement) -> None:
    """Nobody should have to guess what an id means, why it is there, or how it is judged."""
    assert each.statement.endswith(".")
    assert each.why.endswith(".")
    assert each.how.endswith(".")
    assert each.seen


@pytest.mark.parametrize("each", EVERY, ids=lambda each: each.id)
def test_every_requirement_belongs_to_a_family_a_profile_and_if_it_is_one_to_a_feature(each: Requirement) -> None:
    """A claim of a feature makes it binding, so the feature must be one that can be claimed."""
    assert CATALOGUE.families[each.family].profile in CATALOGUE.profiles
    assert (each.feature is not None) == (each.level is Level.FEATURE)
    assert each.feature is None or each.feature in CATALOGUE.features


def test_the_numbers_of_a_family_have_no_gap() -> None:
    """An id is never reused and never dropped."""
    for family in CATALOGUE.families:
        numbers = [int(each.id.partition("-")[2]) for each in EVERY if each.family == family]
        assert numbers == list(range(1, len(numbers) + 1)), family


def test_profiles_together_hold_every_requirement_once() -> None:
    """Conformance is stated for each profile, so none may fall between two."""
    listed = [each.id for profile in CATALOGUE.profiles for each in CATALOGUE.of_profile(profile)]
    assert sorted(listed) == sorted(CATALOGUE.requirements)


def test_every_feature_has_a_requirement() -> None:
    """A feature that can be claimed without consequence is none; metrics are judged where they are claimed."""
    assert {each.feature for each in EVERY if each.feature} == set(CATALOGUE.features)


def test_an_id_is_found_in_any_case() -> None:
    """People type iso-1."""
    assert requirement("iso-1") is CATALOGUE.requirements["ISO-1"]


def test_an_unknown_id_names_what_may_have_been_meant() -> None:
    """A typing mistake costs one look, not a search."""
    with pytest.raises(UnknownRequirementError, match=r"no requirement 'ISO-11'; did you mean .*ISO-1") as raised:
        requirement("ISO-11")
    assert "ISO-1" in raised.value.near


def test_an_id_unlike_any_other_says_which_there_are() -> None:
    """Even then the message leads on."""
    with pytest.raises(UnknownRequirementError, match="there are TEN-1 to OPS-4"):
        requirement("?")


def test_an_unknown_profile_names_those_there_are() -> None:
    """The same for profiles."""
    with pytest.raises(LookupError, match="no profile 'speed'; the profiles are delivery, isolation"):
        CATALOGUE.of_profile("speed")
