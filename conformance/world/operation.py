"""What operators do to a world, and what its surroundings do: wrong configurations, changes of tenants, no broker."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from isolane.conformance.world.ground import Ground
from isolane.fixtures.implementations.rendering import TenantView


class Operation(Ground):
    """The configuration of a world's members, and their way to Kafka."""

    def try_wrong(self, timeout: float) -> None:
        """Start a process with each of the wrong configurations at once; tell how each of them ended.

        One that runs after `timeout` seconds is killed.
        """
        self.members.try_wrong(timeout)

    def reconfigure(self, *, without: Collection[str] = (), elsewhere: Mapping[str, str] | None = None) -> None:
        """Let members know of all tenants but `without`, and of another endpoint for those of `elsewhere`.

        Members that run are told as their descriptor says; those that are started later find it so.
        """
        gone = {self._tenants[tenant].name for tenant in without}
        moved = {self._tenants[tenant].name: endpoint for tenant, endpoint in (elsewhere or {}).items()}

        def change(tenant: TenantView) -> TenantView | None:
            if tenant.name in gone:
                return None
            return replace(tenant, endpoint=moved.get(tenant.name, tenant.endpoint))

        self.tell("tenants", "changed", without=sorted(gone), elsewhere=sorted(moved))
        self.members.reconfigure(change)

    @property
    def can_cut_off(self) -> bool:
        """Whether Kafka can be kept from the members: it has a listener to put a proxy before."""
        return self._proxy is not None

    def cut_off(self) -> None:
        """Let Kafka be away, as far as the members can see."""
        assert self._proxy is not None, "Kafka has no spare listener"
        self._proxy.close()
        self.tell("broker", "down")

    def reconnect(self) -> None:
        """Let Kafka be there again."""
        assert self._proxy is not None, "Kafka has no spare listener"
        self._proxy.open()
        self.tell("broker", "up")
