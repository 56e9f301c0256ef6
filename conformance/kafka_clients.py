"""What all Kafka clients of the suite are made with."""

from __future__ import annotations

RECONNECTING = {"reconnect_backoff_max_ms": 1000}
"""How long they wait at most before they try again to reach a broker.

By default it is half a minute in the end: after an outage whoever asked meanwhile would be blind for as long again.
"""
