"""The scenarios `limiter` and `memory` try with an implementation what it promises, and nothing else."""

from __future__ import annotations

import pytest

from isolane.conformance.engine import Request
from isolane.conformance.requests import request
from isolane.conformance.scenarios import limiter, memory
from isolane.fixtures.implementations import descriptor
from isolane.fixtures.implementations.descriptor import Descriptor, Limits

REFERENCE = descriptor.find("reference")


def promising(**limits: int) -> Descriptor:
    """The reference, as if it promised only this."""
    return REFERENCE.model_copy(update={"limits": Limits(workers=16, **limits)})


def asked(name: str, tmp_path_factory: pytest.TempPathFactory) -> Request:
    """A request for an implementation at standard depth."""
    return request(name, depth_name="standard", out=tmp_path_factory.mktemp("run"))


def test_the_limiter_is_lived_by_who_claims_one(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Others are spared a minute that would judge nothing of them."""
    assert limiter.SCENARIO in asked("reference", tmp_path_factory).scenarios
    assert limiter.SCENARIO not in asked("reference-shared-loop", tmp_path_factory).scenarios
    assert memory.SCENARIO in asked("reference-shared-loop", tmp_path_factory).scenarios


@pytest.mark.parametrize(("promised", "ceiling"), [({}, limiter.CEILING), ({"cap_ceiling": 20}, 20)])
def test_the_load_of_the_limiter_saturates_the_ceiling(promised: dict[str, int], ceiling: int) -> None:
    """More partitions and more requests than slots, whatever the ceiling."""
    for tenant in limiter.shape(promising(**promised)).tenants:
        assert tenant.partitions > ceiling
        assert tenant.rate * limiter.LATENCY > ceiling


def test_memory_is_tried_with_small_allowances() -> None:
    """What is promised is lowered, as far as it is not small already; what is not promised stays open."""
    lowered = memory.adapt(promising(in_flight_bytes=8 * memory.MIB, process_bytes=7 * memory.MIB, span=7)).limits
    assert (lowered.in_flight_bytes, lowered.process_bytes, lowered.span) == (memory.IN_FLIGHT, 7 * memory.MIB, 7)
    assert memory.adapt(promising(span=10**6)).limits.span == memory.SPAN
    assert memory.adapt(promising(span=10**6, in_flight_records=10**4)).limits.span == 10**4
    assert memory.adapt(promising()).limits == promising().limits
    assert memory.OVERSIZED > memory.BUDGET
    assert memory.FILL > 2 * memory.BUDGET


def test_the_backlog_of_one_partition_exceeds_what_may_be_in_flight() -> None:
    """MEM-1 bites where something is promised, within reason."""
    assert memory._more_than_in_flight(promising(in_flight_records=100)) == 150
    assert memory._more_than_in_flight(promising()) == 0
    assert memory._more_than_in_flight(promising(in_flight_records=10**6)) == memory.MOST


def test_fetches_are_counted_and_compressed_where_that_matters() -> None:
    """MEM-7 takes a proxy, MEM-5 records that inflate."""
    shape = memory.shape(REFERENCE)
    assert shape.counted
    codecs = {tenant.name: tenant.codecs for tenant in shape.tenants}
    assert codecs[memory.PACKED] == ("zstd",)
    assert codecs[memory.MANY] == ("none",)
    assert {tenant.partitions for tenant in memory.WIDE.shape(REFERENCE).tenants} >= {4, 512}
