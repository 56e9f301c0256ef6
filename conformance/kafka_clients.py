"""What all Kafka clients of the suite are made with."""

from __future__ import annotations

from typing import Any

from kafka.net.inet import KafkaNetSocket


class _Direct(KafkaNetSocket):  # type: ignore[misc]  # kafka-python has no types
    """Connects without a proxy, and closes the socket of an attempt that fails.

    By itself the client leaves it to the garbage collector. It chooses among such classes by the scheme of `proxy_url`.
    """

    SCHEMES = ("suite",)

    async def sock_connect(self, net: Any, sock: Any, *address: Any, **limits: Any) -> Any:  # noqa: ANN401 - as above
        """Connect, or close the socket and raise why."""
        try:
            return await super().sock_connect(net, sock, *address, **limits)
        except BaseException:
            sock.close()
            raise


CONNECTING = {"proxy_url": "suite://", "reconnect_backoff_max_ms": 1000}
"""How they connect, and how long they wait at most before they try again to reach a broker.

By default it is half a minute in the end: after an outage whoever asked meanwhile would be blind for as long again.
"""
