"""How the tenants' clusters of a world behave: faults, which are told, and habits, which are none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from isolane.conformance.nodes import Nodes
from isolane.conformance.world.ground import Ground
from isolane.fixtures.cluster import Script, ScriptedClusters


class Behaviour(Ground):
    """The clusters of a world, by tenants' names."""

    @contextmanager
    def fault(self, tenant: str, name: str, script: Script, *, phase: str | None = None) -> Iterator[None]:
        """Let one tenant's cluster behave as `script` says while the block runs, in a phase of its own."""
        self.phase(phase or f"fault:{name}")
        self.inject(tenant, name, script)
        try:
            yield
        finally:
            self.heal(tenant, name)

    def inject(self, tenant: str, name: str, *layers: Script) -> None:
        """Let one tenant's cluster behave as the layers of the script say from now on, by the name of a fault."""
        full = self._tenants[tenant].name
        scripts = [layer.model_dump(mode="json", exclude_defaults=True) for layer in layers]
        self.tell("fault", name, tenant=full, script=scripts[0] if len(scripts) == 1 else {"layers": scripts})
        self._scripted.script(full, *layers)

    def behave(self, tenant: str, *layers: Script) -> None:
        """Let one tenant's cluster behave so, healthy or as the layers say, from now on; that is no fault."""
        self._scripted.script(self._tenants[tenant].name, *layers)

    def heal(self, tenant: str, name: str, *layers: Script) -> None:
        """Let one tenant's cluster be healthy again, or behave as the layers say: the end of the fault of that name."""
        full = self._tenants[tenant].name
        bitten = self.bitten(tenant)
        self._scripted.script(full, *layers)
        self.tell("heal", name, tenant=full, bitten=bitten)

    def bitten(self, tenant: str) -> int:
        """How many exchanges the present script of a tenant's cluster has affected."""
        return self._scripted.counters(self._tenants[tenant].name)["bitten"]

    def requests(self, tenant: str) -> int:
        """How many bulk requests have come to a tenant's cluster."""
        return self._scripted.counters(self._tenants[tenant].name)["requests"]

    def count_documents(self) -> None:
        """Tell how many documents each tenant's cluster holds."""
        for tenant in self._tenants.values():
            if tenant.shape.role != "nobody":
                self.tell("documents", tenant.name, documents=self._scripted.counters(tenant.name)["documents"])

    @property
    def nodes(self) -> Nodes:
        """The real nodes; for scenarios that say that they need them."""
        assert isinstance(self._clusters, Nodes)
        return self._clusters

    @property
    def _scripted(self) -> ScriptedClusters:
        assert isinstance(self._clusters, ScriptedClusters), "the scenario says that it needs real nodes"
        return self._clusters
