"""Kills: the member is killed with -9 at random moments, again and again, while clusters answer in all ways.

The moments are counted from when the member has begun to send, so that each kill meets records in flight: queued, sent
and not answered, answered and not marked, marked and not committed (field bugs FB-04, FB-06 and FB-07). Sessions are
short, so that the next life begins soon.
"""

from __future__ import annotations

from collections.abc import Iterator

from isolane.conformance.depth import Depth
from isolane.conformance.scenarios.model import Scenario
from isolane.conformance.shape import Shape, TenantShape
from isolane.conformance.world import World
from isolane.fixtures.cluster import Script, When
from isolane.fixtures.implementations.descriptor import Descriptor

SESSION = 1.5
"""Seconds for which the group waits for a member that was killed, at most."""

LONGEST_LIFE = 2.0
"""Seconds that a life lasts at most once the member sends; it may end at once."""

RATE = 12.0
"""Records a second of each tenant."""

_SOMETIMES = When(share=0.3)

_ANSWERS: dict[str, Script] = {
    "items": Script(items=(201, 429, 201, 503)),
    "short": Script(short_reply=2, when=_SOMETIMES),
    "pushback": Script(status=429, when=When(share=0.5)),
    "broken": Script(status=503, reset_after=1, when=_SOMETIMES),
    "denied": Script(status=403, when=_SOMETIMES),
    "lost": Script(lose_reply=True, when=_SOMETIMES),
    "slow": Script(latency=0.3, jitter=0.5),
}
"""What clusters answer throughout, by the names of their tenants."""

_CONDEMNING = Script(items=(201, 201, 201, 400))

_TENANTS = 10

_WELL = "well0"


def _answers(descriptor: Descriptor) -> Iterator[tuple[str, Script]]:
    """What is tried with an implementation: nothing that never succeeds, where it could not be seen put aside."""
    yield from _ANSWERS.items()
    if descriptor.dead_letter.kind in {"kafka", "file"}:
        yield "condemned", _CONDEMNING


def shape(descriptor: Descriptor) -> Shape:
    """Ten tenants, two or three of them with clusters that are always well."""
    sick = [TenantShape(name, "sick", partitions=2, rate=RATE) for name, _ in _answers(descriptor)]
    well = (f"well{number}" for number in range(_TENANTS - len(sick)))
    return Shape((*sick, *(TenantShape(name, "healthy", partitions=2, rate=RATE) for name in well)))


def adapt(descriptor: Descriptor) -> Descriptor:
    """The implementation with the shortest session that is of use here: its template sets it."""
    session = min(descriptor.timing.session_timeout, SESSION)
    timing = descriptor.timing.model_copy(update={"session_timeout": session})
    return descriptor.model_copy(update={"timing": timing})


def story(world: World, depth: Depth) -> None:
    """Kill the member as often as the depth says, each time when it has sent something, or soon after; heal, drain."""
    answers = dict(_answers(world.descriptor))
    world.members.start()
    world.await_ready(timeout=world.patience)
    world.load_within(float("inf"))
    world.phase("kills")
    for tenant, script in answers.items():
        world.inject(tenant, f"always-{tenant}", script)
    for _ in range(depth.kills):
        world.run_for(world.random.uniform(0, LONGEST_LIFE))
        world.members.kill()
        before = world.requests(_WELL)
        world.members.start()
        world.await_requests(_WELL, before + 1, timeout=world.patience)
    for tenant in answers:
        world.heal(tenant, f"always-{tenant}")
    world.drain(timeout=2 * world.patience, silence=world.patience)
    world.count_documents()


SCENARIO = Scenario(
    name="kills",
    title="kill -9 at random moments, again and again, while ten clusters answer in all ways",
    judges=("DEL-1", "DEL-8", "DEL-9", "OFF-1", "OFF-2", "TEN-2"),
    shape=shape,
    story=story,
    depths=("standard", "soak"),
    adapt=adapt,
)
