"""What goes wrong on the wire: by Toxiproxy, on the proxies that a fault's target means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count

from isolane.chaos.acting import Bites, Scene, way
from isolane.chaos.happenings import (
    KAFKA,
    Bandwidth,
    BlackHole,
    Latency,
    Limit,
    Network,
    Refuse,
    Reset,
    Slicer,
    SlowClose,
    Swallow,
)
from isolane.fixtures.services.toxiproxy_control import Proxy, Stream, Toxic

_REQUESTS = "requests that came through it, or connections where it is Kafka's"
_CONNECTIONS = "connections that it met, or else records that waited"
_NEVER = {"timeout": 0}
_SILENCE = (Toxic("timeout", "upstream", _NEVER), Toxic("timeout", "downstream", _NEVER))
_NUMBERS = count(1)


@way(Latency, _REQUESTS)
@contextmanager
def latency(scene: Scene, fault: Latency) -> Iterator[Bites]:
    """Hold each reply back."""
    numbers = {"latency": fault.milliseconds, "jitter": fault.jitter}
    with _slow(scene, fault, Toxic("latency", attributes=numbers)) as bites:
        yield bites


@way(Bandwidth, _REQUESTS)
@contextmanager
def bandwidth(scene: Scene, fault: Bandwidth) -> Iterator[Bites]:
    """Let few bytes a second through: requests of a cluster, replies of Kafka, which are what is large."""
    stream: Stream = "downstream" if _is_kafka(fault) else "upstream"
    with _slow(scene, fault, Toxic("bandwidth", stream, {"rate": fault.rate})) as bites:
        yield bites


@way(Slicer, _REQUESTS)
@contextmanager
def slicer(scene: Scene, fault: Slicer) -> Iterator[Bites]:
    """Cut replies into pieces."""
    numbers = {"average_size": fault.size, "size_variation": 0, "delay": fault.pause}
    with _slow(scene, fault, Toxic("slicer", attributes=numbers)) as bites:
        yield bites


@way(SlowClose, _REQUESTS)
@contextmanager
def slow_close(scene: Scene, fault: SlowClose) -> Iterator[Bites]:
    """Delay the end of connections."""
    with _slow(scene, fault, Toxic("slow_close", attributes={"delay": fault.milliseconds})) as bites:
        yield bites


@way(Reset, _CONNECTIONS)
@contextmanager
def reset(scene: Scene, fault: Reset) -> Iterator[Bites]:
    """Cut connections when a reply comes."""
    with _cutting(scene, fault, Toxic("reset_peer", attributes=_NEVER)) as bites:
        yield bites


@way(Limit, _CONNECTIONS)
@contextmanager
def limit(scene: Scene, fault: Limit) -> Iterator[Bites]:
    """End connections in the middle of a reply."""
    with _cutting(scene, fault, Toxic("limit_data", attributes={"bytes": fault.size})) as bites:
        yield bites


@way(BlackHole, _CONNECTIONS)
@contextmanager
def black_hole(scene: Scene, fault: BlackHole) -> Iterator[Bites]:
    """Let nothing through in either direction; half open, only new connections work when it has ended."""
    proxies = scene.proxies(fault.target)
    silence = [_named(toxic) for toxic in _SILENCE]
    with _meeting(scene, fault, proxies) as bites:
        _add(proxies, *silence)
        yield bites
    for proxy in proxies:
        for toxic in silence:
            (proxy.mute if fault.half_open else proxy.remove)(toxic.label)


@way(Swallow, "requests that were answered, and the answers lost")
@contextmanager
def swallow(scene: Scene, fault: Swallow) -> Iterator[Bites]:
    """Lose replies until the node has answered one request, and let everything after it through."""
    (proxy,) = scene.proxies(fault.target)
    lost = _named(Toxic("timeout", "downstream", _NEVER))
    before = scene.answered(fault.target)
    proxy.add(lost)
    swallowed = 0

    def is_swallowed() -> bool:
        nonlocal swallowed
        swallowed = scene.answered(fault.target) - before
        return swallowed > 0

    scene.world.await_that(is_swallowed, fault.seconds, "a reply to swallow")
    proxy.mute(lost.label)
    yield lambda: swallowed


@way(Refuse, _CONNECTIONS)
@contextmanager
def refuse(scene: Scene, fault: Refuse) -> Iterator[Bites]:
    """Close everything, and refuse what is new."""
    proxies = scene.proxies(fault.target)
    with _meeting(scene, fault, proxies) as bites:
        for proxy in proxies:
            proxy.disable()
        yield bites
    for proxy in proxies:
        proxy.enable()


def clear(scene: Scene) -> None:
    """Remove what half-open faults have left, when its time is over, and make sure that nothing else is."""
    for proxy in (*scene.stage.doors.values(), *scene.stage.nodes.proxies.values()):
        for toxic in proxy.toxics():
            proxy.remove(toxic)
    scene.stage.toxiproxy.control.reset()


@contextmanager
def _slow(scene: Scene, fault: Network, toxic: Toxic) -> Iterator[Bites]:
    toxic = _named(toxic)
    proxies = scene.proxies(fault.target)
    before = 0 if _is_kafka(fault) else scene.answered(fault.target)
    with _counting(scene, proxies) as connections:
        _add(proxies, toxic)
        yield connections if _is_kafka(fault) else lambda: scene.answered(fault.target) - before
    _remove(proxies, toxic)


@contextmanager
def _cutting(scene: Scene, fault: Network, toxic: Toxic) -> Iterator[Bites]:
    toxic = _named(toxic)
    proxies = scene.proxies(fault.target)
    with _meeting(scene, fault, proxies) as bites:
        _add(proxies, toxic)
        yield bites
    _remove(proxies, toxic)


@contextmanager
def _meeting(scene: Scene, fault: Network, proxies: Sequence[Proxy]) -> Iterator[Bites]:
    """Count the connections through proxies, or, of a cluster to which none was tried, the records that waited."""
    before = 0 if _is_kafka(fault) else scene.answered(fault.target)

    def waiting() -> int:
        silent = not _is_kafka(fault) and scene.answered(fault.target) == before
        return len(scene.world.behind(fault.target)) if silent else 0

    with _counting(scene, proxies) as connections:
        yield lambda: connections() or waiting()


@contextmanager
def _counting(scene: Scene, proxies: Sequence[Proxy]) -> Iterator[Bites]:
    """Count the connections through proxies: those that are open now, and those accepted from now on."""
    toxiproxy = scene.stage.toxiproxy

    def accepted() -> int:
        return sum(toxiproxy.connections(proxy.name) for proxy in proxies)

    open_now = toxiproxy.open_connections({int(proxy.listen.rpartition(":")[2]) for proxy in proxies})
    before = accepted()
    yield lambda: open_now + accepted() - before


def _named(toxic: Toxic) -> Toxic:
    """Return the toxic by a name that no other has: a proxy takes no two of one name, and one that is muted stays."""
    return replace(toxic, name=f"{toxic.label}-{next(_NUMBERS)}")


def _add(proxies: Sequence[Proxy], *toxics: Toxic) -> None:
    for proxy in proxies:
        for toxic in toxics:
            proxy.add(toxic)


def _remove(proxies: Sequence[Proxy], toxic: Toxic) -> None:
    for proxy in proxies:
        proxy.remove(toxic.label)


def _is_kafka(fault: Network) -> bool:
    return fault.target.partition(":")[0] == KAFKA
