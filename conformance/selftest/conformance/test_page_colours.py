"""The colours of pages: text can be read, curves can be seen and told apart, by everybody, on light and on dark.

Contrast is that of WCAG 2.2 (4.5 for text, 3 for what is drawn). What people with a kind of colour blindness see is
computed after Machado, Oliveira and Fernandes (2009), at full strength; distances are those of CIE Lab.
"""

from __future__ import annotations

import math
import re
from itertools import combinations
from pathlib import Path

import pytest

from isolane.conformance.report import plots

CURVES = (*plots.HEALTHY_ALL, *plots.SICK)
TEXTS = ("--ink", "--faint", "--healthy", "--good", "--bad", "--warning")

APART = 15.0
"""A distance in Lab at which two thin lines are clearly not of one colour: six times what is just noticed."""

VISIONS = {
    "whole": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}

Colour = tuple[float, float, float]


def schemes() -> dict[str, dict[str, Colour]]:
    """The colours by name, as linear light, under each scheme."""
    text = (Path(plots.__file__).parent / "page.css.j2").read_text()
    light, dark = text.split("@media (prefers-color-scheme: dark)")
    return {
        name: dict(map(colour, re.findall("(--[a-z-]+): #([0-9a-f]{6});", part)))
        for name, part in (("light", light), ("dark", dark))
    }


def colour(found: tuple[str, str]) -> tuple[str, Colour]:
    """A name, and its colour as linear light."""
    red, green, blue = (linear(int(found[1][at : at + 2], 16) / 255) for at in (0, 2, 4))
    return found[0], (red, green, blue)


def linear(value: float) -> float:
    """What a value of sRGB is as light."""
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def luminance(seen: Colour) -> float:
    """How bright a colour is."""
    return 0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2]


def contrast(one: Colour, other: Colour) -> float:
    """The contrast of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(of: Colour, vision: str) -> Colour:
    """Where a colour lies in CIE Lab, as it is seen."""
    red, green, blue = (
        min(1.0, max(0.0, sum(weight * part for weight, part in zip(row, of, strict=True)))) for row in VISIONS[vision]
    )
    x, y, z = (
        value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116
        for value in (
            (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505,
            luminance((red, green, blue)),
            (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089,
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(scheme: str) -> None:
    """Also over the shade of a fault, where ink and the faint text of axes may stand."""
    colours = schemes()[scheme]
    low = {name: round(contrast(colours[name], colours["--surface"]), 2) for name in TEXTS}
    low |= {f"{name} on shade": round(contrast(colours[name], colours["--shade"]), 2) for name in ("--ink", "--faint")}
    assert {name: value for name, value in low.items() if value < 4.5} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_curves_can_be_seen(scheme: str) -> None:
    """On the page, and within the shade of a fault: that is where one looks."""
    colours = schemes()[scheme]
    low = {
        f"{name} on {ground}": round(contrast(colours[name], colours[ground]), 2)
        for name in (*CURVES, plots.OFFERED)
        for ground in ("--surface", "--shade")
    }
    assert {name: value for name, value in low.items() if value < 3} == {}


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_curves_can_be_told_apart(scheme: str, vision: str) -> None:
    """By people with every kind of colour vision."""
    seen = {name: lab(of, vision) for name, of in schemes()[scheme].items() if name in CURVES}
    near = {(one, other): math.dist(seen[one], seen[other]) for one, other in combinations(CURVES, 2)}
    assert {pair: distance for pair, distance in near.items() if distance < APART} == {}
