"""TEN-5: tenants that are there and have nothing to say cost little more than their connections."""

from __future__ import annotations

from statistics import median

from isolane.conformance.history import History
from isolane.conformance.verdict import Figure, Finding, Verdict

MANY = 100
"""Tenants from which on their number is what is tried."""

THREADS = 1.5
"""Threads for each tenant: one for its partition, and a share of a few more."""

DESCRIPTORS = 3.0
"""Descriptors for each tenant: a connection, and the spare one of a retry."""

MEMORY = 1.0
"""MiB for each tenant: the buffers of a connection, and what is known of a partition."""

_BASE = {"threads": 64, "descriptors": 128, "memory": 256.0}
"""What any process may need without any tenant; memory in MiB."""

_BOUNDS = {"threads": THREADS, "descriptors": DESCRIPTORS, "memory": MEMORY}
_UNITS = {"threads": "", "descriptors": "", "memory": "MiB"}


def check(history: History) -> list[Finding]:
    """Return the finding on TEN-5, from what a member needs while all is calm; none where there are few tenants."""
    tenants, phase = len(history.meta.tenants), history.phase("idle")
    if tenants < MANY or phase is None:
        return []
    samples = [sample for sample in history.samples if phase.began <= sample.at < phase.ended]
    if not samples:
        summary = "no sample of a member was taken while its tenants were idle"
        return [Finding("TEN-5", history.scenario, Verdict.INCONCLUSIVE, summary)]
    needed = {
        "threads": median(sample.threads for sample in samples),
        "descriptors": median(sample.fds for sample in samples),
        "memory": median(sample.rss for sample in samples) / 1024**2,
    }
    each = {name: max(0.0, value - _BASE[name]) / tenants for name, value in needed.items()}
    figures = {"tenants": Figure(tenants)} | {
        f"{name} for each tenant": Figure(value, _UNITS[name], f"≤ {_BOUNDS[name]:g}") for name, value in each.items()
    }
    excess = [name for name, value in each.items() if value > _BOUNDS[name]]
    if excess:
        summary = f"{tenants} tenants, most of them idle, cost too much in {', '.join(excess)}"
        return [Finding("TEN-5", history.scenario, Verdict.FAIL, summary, figures=figures)]
    summary = f"{tenants} tenants, most of them idle, cost little more than their connections"
    return [Finding("TEN-5", history.scenario, Verdict.PASS, summary, figures=figures)]
