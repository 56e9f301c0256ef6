"""Topics that come and grow while a world lives, and those of dead letters that come and go."""

from __future__ import annotations

from isolane.conformance.observe_letters import letter_topics
from isolane.conformance.world.ground import Ground


class Topics(Ground):
    """The topics of a world, by tenants' names."""

    def create(self, tenant: str) -> None:
        """Make the topics of a tenant that is late."""
        shape, topics = self._tenants[tenant].shape, self._tenants[tenant].topics
        self._broker.create_topics(
            dict.fromkeys(topics.values(), shape.partitions), dict.fromkeys(topics.values(), shape.settings)
        )
        for topic in topics:
            self.load.has(topic, shape.partitions)
            self.tell("topic", "created", topic=topic, partitions=shape.partitions)

    def grow(self, tenant: str, partitions: int) -> None:
        """Give each topic of a tenant more partitions, so many in all."""
        for topic, name in self._tenants[tenant].topics.items():
            self._broker.add_partitions(name, partitions)
            self.load.has(topic, partitions)
            self.tell("topic", "partitions", topic=topic, partitions=partitions)

    def close_letters(self, tenant: str) -> None:
        """Let the dead-letter topics of a tenant be missing, and nobody be able to make them.

        Kafka refuses a topic whose name differs from another's in dots and underscores only.
        """
        self._broker.create_topics({_rival(topic): 1 for topic in self._letter_topics(tenant)})
        self.tell("fault", "letters", tenant=self._tenants[tenant].name)

    def open_letters(self, tenant: str) -> None:
        """Make the dead-letter topics of a tenant."""
        topics = self._letter_topics(tenant)
        self._broker.delete_topics(map(_rival, topics))
        self._broker.create_topics(dict.fromkeys(topics, 1))
        self.tell("heal", "letters", tenant=self._tenants[tenant].name)

    def _letter_topics(self, tenant: str) -> list[str]:
        return sorted(letter_topics(self.descriptor.dead_letter, self._tenants[tenant].topics.values()))


def _rival(topic: str) -> str:
    return topic.replace(".", "_")
