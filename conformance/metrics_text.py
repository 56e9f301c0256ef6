"""The exposition format, read: the samples that a descriptor's map means, by the labels that tell them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from isolane.conformance.history_values import MetricsMeta, Scrape


class NotExpositionError(ValueError):
    """A text is not in the format that scrapers expect; the message is the parser's."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """Which samples are meant: by their name, and by labels that they must have."""

    name: str
    labels: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Read ``name`` or ``name{label="value"}``.

        Raises:
            NotExpositionError: It is neither.
        """
        (sample,) = samples_of(f"{text} 0\n")
        return cls(sample.name, sample.labels)

    def matches(self, sample: Sample) -> bool:
        """Return whether a sample is meant."""
        return sample.name == self.name and self.labels.items() <= sample.labels.items()


def samples_of(text: str) -> list[Sample]:
    """Return the samples in a text.

    Raises:
        NotExpositionError: It is not in the format that scrapers expect.
    """
    try:
        return [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    except ValueError as error:
        raise NotExpositionError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Reading:
    """One scrape of one member, read: when it began and ended, and each metric's values by what its labels tell apart.

    Of metrics of tenants the key is the tenant's name; of those of partitions it is the topic's, and the partition.
    `summed` are the metrics of tenants of which a value is the sum of several samples, which need not be of one moment;
    `parts` is of how many, those that are 0 left out.
    """

    began: float
    at: float
    member: str
    tenants: Mapping[str, Mapping[str, float]]
    partitions: Mapping[str, Mapping[tuple[str, int], float]]
    summed: frozenset[str]
    parts: Mapping[str, Mapping[str, int]]


OF_TENANTS = ("cap", "slots", "waiters", "attempts", "delivered")
OF_PARTITIONS = ("lag", "in_flight_records", "in_flight_bytes", "paused")
"""The metrics that are each tenant's, and those that are each partition's (OPS-1)."""


def reading_of(scrape: Scrape, meta: MetricsMeta) -> Reading:
    """Read a scrape. Samples with the same tenant, or partition, are added up.

    Raises:
        NotExpositionError: It is not in the format that scrapers expect.
    """
    samples = samples_of(scrape.text)
    tenant, topic, partition = (meta.labels.get(name, name) for name in ("tenant", "topic", "partition"))
    tenants: dict[str, dict[str, float]] = {}
    partitions: dict[str, dict[tuple[str, int], float]] = {}
    summed: set[str] = set()
    parts: dict[str, dict[str, int]] = {}
    for name, pattern in meta.map.items():
        meant = _meant(samples, pattern)
        if name in OF_TENANTS:
            values = tenants.setdefault(name, {})
            for sample in meant:
                key = sample.labels.get(tenant, "")
                if key in values:
                    summed.add(name)
                values[key] = values.get(key, 0.0) + sample.value
                many = parts.setdefault(name, {})
                many[key] = many.get(key, 0) + bool(sample.value)
        elif name in OF_PARTITIONS:
            places = partitions.setdefault(name, {})
            for sample in meant:
                number = sample.labels.get(partition, "")
                if number.isdigit():
                    place = sample.labels.get(topic, ""), int(number)
                    places[place] = places.get(place, 0.0) + sample.value
    return Reading(scrape.began, scrape.at, scrape.member, tenants, partitions, frozenset(summed), parts)


def _meant(samples: Sequence[Sample], pattern: str) -> list[Sample]:
    wanted = Pattern.parse(pattern)
    return [sample for sample in samples if wanted.matches(sample)]
