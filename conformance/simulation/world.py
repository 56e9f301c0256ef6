"""A simulated world: one broker, the tenants' clusters, and processes that come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isolane.conformance.simulation import inside
from isolane.conformance.simulation.broker import Broker
from isolane.conformance.simulation.cluster import DeadLetterPort, SimulatedCluster
from isolane.conformance.simulation.failures import Failure
from isolane.conformance.simulation.ledger import Ledger
from isolane.conformance.simulation.member import Member, Surroundings
from isolane.conformance.simulation.scheduler import Scheduler
from isolane.conformance.simulation.scripts import SCRIPTS
from isolane.conformance.simulation.settings import LARGEST, PAYLOADS, Settings, places_of
from isolane.conformance.simulation.story import Narrated, Story

if TYPE_CHECKING:
    from isolane.conformance.simulation.choice import Choice
    from isolane.conformance.simulation.scheduler import Trace
    from isolane.reference.consumer import TopicPartition

_DRAINED_WITHIN = 15.0
_AT_REST_WITHIN = 5.0
_SLOW_FOR = 5.0
"""Seconds after the heal from which on threads are slow no more: what is judged by time is not their fault."""

_LOOK = 0.05
_MOST_MEMBERS = 4


class World:
    """What can be done to it are its methods; whatever rule is broken is raised as a `Failure`.

    Attributes:
        scheduler: Of everything.
        ledger: Of all records.
        story: What happened.
        records: How many were produced.
        faults: How many faults there were that did something.
    """

    def __init__(self, settings: Settings, choice: Choice, *, tell: bool = False, trace: Trace | None = None) -> None:
        """Start the members; nothing is produced yet.

        Args:
            settings: The size.
            choice: Who decides who goes on.
            tell: Whether the story is wanted.
            trace: Is told of each switch.
        """
        self.settings = settings
        self.story = Story(lambda: self.scheduler.now, wanted=tell)
        self.scheduler = Scheduler(Narrated(choice, self.story) if tell else choice, trace)
        self.ledger = Ledger(self.scheduler, self.story)
        self.records = 0
        self._faults = 0
        self._config = settings.config
        self._broker = Broker(self.scheduler, self.ledger, self._config.subscription, settings.protocol)
        self._clusters = {
            tenant: SimulatedCluster(tenant, self.scheduler, self.ledger, self.story, settings.travel)
            for tenant in settings.names
        }
        self._letters = DeadLetterPort(self.scheduler, self.ledger)
        self._places: list[tuple[str, TopicPartition]] = []
        for tenant in settings.names:
            self._add(tenant, places_of(tenant, settings.partitions))
        self._members: list[Member] = []
        self._names = 0
        for _ in range(settings.members):
            self.join()

    @property
    def faults(self) -> int:
        """How many faults there were that did something."""
        return self._faults + sum(cluster.bitten for cluster in self._clusters.values())

    def go_on(self, seconds: float) -> None:
        """Let everybody go on for so long, and look whether all is well (LIM-8, MEM)."""
        self.scheduler.sleep(seconds)
        for member in list(self._members):
            if member.exited:
                self.scheduler.kill(member.process)
                self._members.remove(member)
            else:
                inside.check(member.program, self.settings.batch * LARGEST)

    def produce(self, number: int, payload: str, count: int, gap: int = 0) -> None:
        """Produce records to a partition, all of the same kind, with so many unused offsets behind each."""
        tenant, place = self._places[number % len(self._places)]
        value, items = PAYLOADS[payload]
        self.records += count
        records = self._broker.produce(place, [value] * count, gap=gap)
        for record in records:
            self.ledger.produced(place, record.offset, tenant, items)
        self.story.tell("produced", place, records[0].offset, f"to {records[-1].offset}: {payload} each")

    def sicken(self, number: int, script: str) -> None:
        """Let a tenant's cluster follow a script."""
        tenant = self.settings.names[number % self.settings.tenants]
        self.story.tell(f"{tenant}'s cluster {script}")
        self._clusters[tenant].perform(SCRIPTS[script])

    def heal(self, number: int) -> None:
        """Let a tenant's cluster be well again."""
        tenant = self.settings.names[number % self.settings.tenants]
        self.story.tell(f"{tenant}'s cluster is well")
        self._clusters[tenant].perform()

    def join(self) -> None:
        """Start a process."""
        if len(self._members) < _MOST_MEMBERS:
            self._names += 1
            name = f"p{self._names}"
            self.story.tell(f"{name} starts")
            around = Surroundings(self.scheduler, self._broker, self._clusters, self._letters)
            self._members.append(Member(name, self._config, around, self.settings.batch))

    def leave(self, number: int) -> None:
        """Stop a process as SIGTERM does."""
        if self._members:
            member = self._members[number % len(self._members)]
            self.story.tell(f"{member.name} is told to stop")
            self._faults += 1
            member.stop()

    def crash(self, number: int) -> None:
        """Kill a process."""
        if self._members:
            member = self._members.pop(number % len(self._members))
            self.story.tell(f"{member.name} is killed")
            self._faults += 1
            self.scheduler.kill(member.process)

    def freeze(self, number: int) -> None:
        """Let a process do nothing, until it is thawed."""
        if self._members:
            member = self._members[number % len(self._members)]
            self.story.tell(f"{member.name} is frozen")
            self._faults += 1
            if not member.process.frozen:
                self.scheduler.freeze(member.process)

    def thaw(self) -> None:
        """Let all frozen processes go on."""
        for member in self._members:
            if member.process.frozen:
                self.story.tell(f"{member.name} is thawed")
                self.scheduler.thaw(member.process)

    def lose_letters(self) -> None:
        """Let no dead letter be confirmed."""
        self.story.tell("dead letters cannot be written")
        self._letters.available = False

    def find_letters(self) -> None:
        """Let dead letters be confirmed again."""
        if not self._letters.available:
            self.story.tell("dead letters can be written")
            self._letters.available = True

    def lose_broker(self) -> None:
        """Let Kafka be down."""
        self.story.tell("Kafka is down")
        self._faults += 1
        self._broker.go_down()

    def find_broker(self) -> None:
        """Let Kafka be up again."""
        if not self._broker.is_up:
            self.story.tell("Kafka is up")
            self._broker.come_back()

    def grow(self, number: int) -> None:
        """Add a partition to a tenant's topic."""
        tenant = self.settings.names[number % self.settings.tenants]
        place = places_of(tenant, 100)[sum(tenant == other for other, _ in self._places)]
        self.story.tell("new partition", place)
        self._add(tenant, [place])

    def finish(self) -> None:
        """Heal everything; see each record finished and committed, everything given back, and every process stop."""
        for number in range(self.settings.tenants):
            self.heal(number)
        self.find_letters()
        self.find_broker()
        self.thaw()
        self.go_on(_LOOK)
        if not self._members:
            self.join()
        self._drain()
        self._come_to_rest()

    def stop_all(self, script: str) -> None:
        """Stop every process while all clusters are sick and records wait (LIF-2); nobody is slow meanwhile."""
        self.scheduler.punctual = True
        for number in range(self.settings.tenants):
            self.sicken(number, script)
        for number in range(len(self._places)):
            self.produce(number, "one item", 1)
        self.go_on(_LOOK)
        for member in self._members:
            member.stop()
        while self._members:
            self.go_on(_LOOK)
        self.scheduler.punctual = False

    def close(self) -> None:
        """End all tasks."""
        self.scheduler.close()

    def _drain(self) -> None:
        """DEL-1, OFF-5: every record is finished and committed in time."""
        began = self.scheduler.now
        while self.ledger.unfinished or self.ledger.uncommitted():
            self.scheduler.punctual = self.scheduler.now > began + _SLOW_FOR
            if self.scheduler.now > began + _DRAINED_WITHIN:
                raise self._not_drained()
            self.go_on(_LOOK)
            if not self._members:
                self.join()

    def _come_to_rest(self) -> None:
        """LIM-8, MEM-2, MEM-6: soon nothing is held any more; a thread that has done its work may be slow to say so."""
        self.scheduler.punctual = True
        until = self.scheduler.now + _AT_REST_WITHIN
        for member in list(self._members):
            while (failure := inside.left_behind(member.program)) is not None:
                if self.scheduler.now > until:
                    raise failure
                self.go_on(_LOOK)
        self.scheduler.punctual = False

    def _not_drained(self) -> Failure:
        stacks = tuple(self.scheduler.stacks())
        left = [str(entry) for entry in self.ledger if entry.finished_at is None]
        if left:
            return Failure("DEL-1", f"{_DRAINED_WITHIN:g}s after the heal {left[0]} is not finished", stacks)
        place = self.ledger.uncommitted()[0]
        return Failure(
            "OFF-5", f"{_DRAINED_WITHIN:g}s after the heal {place.topic}/{place.partition} is not committed", stacks
        )

    def _add(self, tenant: str, places: list[TopicPartition]) -> None:
        self._broker.create(places)
        self._places += [(tenant, place) for place in places]
