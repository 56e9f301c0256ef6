"""The simulated group: who owns what, who is expelled, and whose commits count."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isolane.conformance.simulation.assignment import Protocol, cooperative, eager
from isolane.conformance.simulation.broker import Broker, Log
from isolane.conformance.simulation.choice import Replayed
from isolane.conformance.simulation.consumer import SimulatedConsumer
from isolane.conformance.simulation.runtime import SimulatedRuntime
from isolane.conformance.simulation.scheduler import Process, Scheduler
from isolane.conformance.simulation.settings import Settings, places_of
from isolane.reference.consumer import TopicPartition

PLACES = places_of("t0", 4)
GRACE = 0.06


class Commits:
    """What the broker took."""

    def __init__(self) -> None:
        """Begin with none."""
        self.seen: list[tuple[str, TopicPartition, int]] = []

    def committed(self, name: str, place: TopicPartition, offset: int, log: Log, *, foreign: bool) -> None:
        """See `Watcher`."""
        assert offset <= log.end
        assert not foreign
        self.seen.append((name, place, offset))


class Member:
    """A process that only polls, and an owner that notes what it is told."""

    def __init__(self, world: World, name: str) -> None:
        """Join."""
        self.owned: set[TopicPartition] = set()
        self.told: list[str] = []
        self.fetched: list[tuple[TopicPartition, int]] = []
        self.busy = False
        self.stuck_for = 0.0  # in a call as the owner
        self.busy_for = 0.0  # between polls
        self.committing: dict[TopicPartition, int] = {}
        self.results: list[str | None] = []
        self.leaving = False
        self.scheduler = world.scheduler
        self.process = Process(name)
        runtime = SimulatedRuntime(world.scheduler, self.process, seed=1)
        self.consumer = SimulatedConsumer(world.broker, Settings().config.kafka, self, runtime)
        runtime.spawn("poll", self._poll)

    def assigned(self, places: Collection[TopicPartition]) -> None:
        """See `Owner`."""
        assert not self.owned & set(places)
        self.owned |= set(places)
        self.told.append("assigned")

    def revoking(self, places: Collection[TopicPartition]) -> None:
        """See `Owner`."""
        assert self.owned >= set(places)
        if self.stuck_for:
            self.scheduler.sleep(self.stuck_for)

    def settled(self, _: Collection[TopicPartition]) -> bool:
        """See `Owner`."""
        return not self.busy

    def revoked(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See `Owner`."""
        self.owned -= set(places)
        self.told.append("revoked")
        return {}

    def lost(self, places: Collection[TopicPartition]) -> None:
        """See `Owner`."""
        self.owned -= set(places)
        self.told.append("lost")

    def _poll(self) -> None:
        while not self.leaving:
            self.scheduler.sleep(self.busy_for)
            for place, records in self.consumer.poll(0.025).items():
                assert place in self.owned
                self.fetched += [(place, record.offset) for record in records]
            if self.committing:
                self.consumer.commit(self.committing, self.results.append)
                self.committing = {}
        self.consumer.close()


class World:
    """A broker with one topic of four partitions."""

    def __init__(self, protocol: Protocol) -> None:
        """Begin without members."""
        self.scheduler = Scheduler(Replayed())
        self.commits = Commits()
        config = Settings(protocol=protocol).config
        self.broker = Broker(self.scheduler, self.commits, config.subscription, protocol)
        self.broker.create(PLACES)

    def join(self, name: str) -> Member:
        """Start a member."""
        return Member(self, name)


@pytest.fixture(params=["eager", "cooperative"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """A world, with either protocol."""
    made = World(request.param)
    yield made
    made.scheduler.close()


def test_partitions_are_shared_and_taken_over(world: World) -> None:
    """All are owned, each by one member; who leaves or dies gives them up, at once or after its session."""
    first = world.join("first")
    world.scheduler.sleep(0.3)
    assert first.owned == set(PLACES)
    second, third = world.join("second"), world.join("third")
    world.scheduler.sleep(0.6)
    members = (first, second, third)
    assert sorted(len(member.owned) for member in members) == [1, 1, 2]
    assert set().union(*(member.owned for member in members)) == set(PLACES)
    first.leaving = True
    world.scheduler.sleep(0.3)
    assert not first.owned
    assert second.owned | third.owned == set(PLACES)
    world.scheduler.kill(second.process)
    world.scheduler.sleep(0.3)
    assert third.owned != set(PLACES)
    world.scheduler.sleep(0.7)
    assert third.owned == set(PLACES)
    assert "lost" not in third.told


def test_only_cooperative_members_keep_what_stays_theirs() -> None:
    """With the eager protocol everything is revoked before each rebalance."""
    told = {}
    protocols: tuple[Protocol, ...] = ("eager", "cooperative")
    for protocol in protocols:
        world = World(protocol)
        member = world.join("first")
        world.scheduler.sleep(0.3)
        before = set(member.owned)
        world.join("second")
        world.scheduler.sleep(0.6)
        assert len(member.owned & before) == 2
        told[protocol] = member.told
        world.scheduler.close()
    assert told["eager"] == ["assigned", "revoked", "assigned"]
    assert told["cooperative"] == ["assigned", "revoked"]


def test_a_frozen_member_is_fenced(world: World) -> None:
    """REB-3: it is expelled after its session; woken, its commits are refused, it loses all and joins again."""
    frozen, other = world.join("frozen"), world.join("other")
    world.scheduler.sleep(0.5)
    place = min(frozen.owned)
    world.broker.produce(place, [b"x"])
    world.scheduler.sleep(0.05)
    world.scheduler.freeze(frozen.process)
    world.scheduler.sleep(1.5)
    assert other.owned == set(PLACES)
    frozen.committing = {place: 1}
    world.scheduler.thaw(frozen.process)
    world.scheduler.sleep(1.0)
    assert frozen.results
    assert frozen.results[0] is not None
    assert world.commits.seen == []
    assert "lost" in frozen.told
    assert frozen.owned | other.owned == set(PLACES)
    assert not frozen.owned & other.owned


def test_a_member_that_does_not_poll_is_expelled(world: World) -> None:
    """Its heartbeats go on, but after the poll interval it leaves, and learns of it in its next poll."""
    stuck, other = world.join("stuck"), world.join("other")
    world.scheduler.sleep(0.5)
    place = min(stuck.owned)
    stuck.busy_for = 2.0
    world.scheduler.sleep(1.6)
    assert other.owned == set(PLACES)
    assert place in stuck.owned
    world.scheduler.sleep(1.0)
    assert "lost" in stuck.told


def test_an_owner_that_blocks_stops_the_heartbeats(world: World) -> None:
    """REB-5: a callback that is longer than the session costs the membership; the grace for attempts does not."""
    slow, busy = world.join("slow"), world.join("busy")
    world.scheduler.sleep(0.5)
    slow.stuck_for, busy.busy = 1.5, True
    world.join("third")
    world.scheduler.sleep(3.0)
    slow.stuck_for = 0.0
    world.scheduler.sleep(1.0)
    assert "lost" not in busy.told
    assert world.broker.group.rebalances > 2


def test_records_come_in_order_and_once_while_nothing_changes(world: World) -> None:
    """Holes between offsets are no obstacle; the position is behind what is not a record (OFF-3)."""
    member = world.join("only")
    world.scheduler.sleep(0.2)
    world.broker.produce(PLACES[0], [b"x"] * 120, gap=2)
    world.scheduler.sleep(0.3)
    assert member.fetched == [(PLACES[0], 3 * number) for number in range(120)]
    assert member.consumer.position(PLACES[0]) == 360
    assert member.consumer.ends()[PLACES[0]] == 360


def test_a_paused_partition_waits_and_goes_on(world: World) -> None:
    """MEM-7: nothing of it is returned until it is resumed, and then from where it was."""
    member = world.join("only")
    world.scheduler.sleep(0.2)
    member.consumer.pause([PLACES[0]])
    world.broker.produce(PLACES[0], [b"x"])
    world.broker.produce(PLACES[1], [b"x"])
    world.scheduler.sleep(0.2)
    assert member.fetched == [(PLACES[1], 0)]
    member.consumer.resume([PLACES[0]])
    world.scheduler.sleep(0.2)
    assert member.fetched == [(PLACES[1], 0), (PLACES[0], 0)]


def test_a_new_topic_is_found(world: World) -> None:
    """TEN-1: within the age of the metadata, and from its first record."""
    member = world.join("only")
    world.scheduler.sleep(0.2)
    (place,) = places_of("t1", 1)
    world.broker.create([place])
    world.broker.produce(place, [b"x"])
    world.scheduler.sleep(0.6)
    assert member.fetched == [(place, 0)]


def test_while_the_broker_is_down_nobody_is_expelled(world: World) -> None:
    """LIF-4: nothing is fetched or committed, and when it is back all goes on as before."""
    member = world.join("only")
    world.scheduler.sleep(0.2)
    world.broker.go_down()
    world.broker.produce(PLACES[0], [b"x"])
    member.committing = {PLACES[0]: 0}
    world.scheduler.sleep(3.0)
    assert member.fetched == []
    assert member.results == ["the broker is down"]
    assert member.consumer.trouble()
    world.broker.come_back()
    world.scheduler.sleep(0.3)
    assert member.fetched == [(PLACES[0], 0)]
    assert "lost" not in member.told
    assert member.consumer.trouble() is None


@settings(deadline=None)
@given(
    owners=st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=12),
    members=st.sets(st.sampled_from("abcd"), min_size=1),
)
def test_a_cooperative_assignment_takes_nothing_that_somebody_holds(owners: list[str], members: set[str]) -> None:
    """Each partition goes to its owner, to anybody while nobody owns it, or to nobody; at the end all are dealt."""
    places = places_of("t0", len(owners))
    owned: dict[str, tuple[TopicPartition, ...]] = {
        member: tuple(place for place, owner in zip(places, owners, strict=True) if owner == member)
        for member in sorted(members)
    }
    for _ in range(3):
        before = {place: member for member, claims in owned.items() for place in claims}
        after = {place: member for member, claims in cooperative(owned, places).items() for place in claims}
        assert all(before.get(place, member) == member for place, member in after.items())
        assert sum(map(len, cooperative(owned, places).values())) == len(after)
        owned = cooperative(owned, places)
    sizes = [len(claims) for claims in owned.values()]
    assert sum(sizes) == len(places)
    assert max(sizes) - min(sizes) <= 1


def test_an_eager_assignment_moves_partitions() -> None:
    """In turn, from another member on in each generation."""
    first, second = (eager(["a", "b"], PLACES, generation) for generation in (1, 2))
    assert first["a"] == second["b"]
    assert sorted(first["a"] + first["b"]) == PLACES
