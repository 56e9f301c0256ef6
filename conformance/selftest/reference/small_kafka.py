"""A Kafka of one broker in threads: as much of its protocol as kafka-python's consumer speaks, and faults at will.

What a real broker does only by chance, or with much ado, it does when a test says: it names a leader that nobody knows,
or hands out a batch that nobody can read.
"""

from __future__ import annotations

import itertools
import socket
import struct
import threading
import time
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from kafka.protocol import consumer, metadata
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.util import calc_crc32c

from isolane.conformance.selftest.reference.kafka_bench import Member
from isolane.reference.config import Kafka
from isolane.reference.consumer import TopicPartition
from isolane.reference.kafka_consumer import KafkaGroupConsumer

if TYPE_CHECKING:
    from collections.abc import Callable

    from isolane.reference.runtime import Runtime

Fields = dict[str, Any]
_VERSIONS = {
    "ApiVersions": 2,
    "Metadata": 8,
    "FindCoordinator": 2,
    "JoinGroup": 5,
    "SyncGroup": 3,
    "Heartbeat": 3,
    "LeaveGroup": 3,
    "OffsetFetch": 5,
    "OffsetCommit": 7,
    "ListOffsets": 5,
    "Fetch": 11,
}
_UNKNOWN_VERSION = 35


def _kind(name: str) -> Any:  # noqa: ANN401 - kafka-python has no types
    return getattr(metadata if hasattr(metadata, name) else consumer, name)


_BY_KEY = {_kind(f"{name}Request").API_KEY: name for name in _VERSIONS}


def made(shape: Any, version: int, fields: Fields) -> Any:  # noqa: ANN401 - likewise
    """Return a structure of the protocol; what is nested in it is given likewise, by names."""
    inner = {name: field.data_class for name, field in shape.fields.items() if field.is_struct_array()}
    return shape(
        version=version,
        **{
            name: [made(inner[name], version, each) for each in given] if name in inner else given
            for name, given in fields.items()
        },
    )


def batch(base: int, *values: bytes | None, header: bytes = b"") -> bytes:
    """Return a batch of records as a broker stores it, the last one with a header of that name, if any."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 10**9)  # noqa: FBT003 - as it is declared
    for number, value in enumerate(values):
        named = [("@" * len(header), b"")] if header and number == len(values) - 1 else []
        builder.append(number, 1_700_000_000_000, None, value, named)
    data = bytearray(bytes(builder.build()).replace(b"@" * len(header), header) if header else builder.build())
    struct.pack_into(">q", data, 0, base)
    struct.pack_into(">I", data, 17, calc_crc32c(memoryview(data)[21:]))
    return bytes(data)


class SmallKafka:
    """See the module. The condition guards all that it holds; tests change it while nothing is under way.

    Attributes:
        logs: The batches of each partition: the first offset, the one behind the last, and the bytes.
        nodes: The brokers, as metadata has them; whichever is asked, it is this one.
        leaders: Who leads a partition, as metadata has it, if not broker 1.
        errors: What a fetch of a partition is answered with instead of its records.
        open: How many records of a partition belong to a transaction that is still open, behind all others.
    """

    def __init__(self) -> None:
        """Serve from now on; there are no topics."""
        self.logs: dict[tuple[str, int], list[tuple[int, int, bytes]]] = {}
        self.nodes = [1]
        self.leaders: dict[tuple[str, int], int] = {}
        self.errors: dict[tuple[str, int], int] = {}
        self.open: dict[tuple[str, int], int] = {}
        self._generation, self._leader, self._assignment = 0, "", b""
        self._lives = itertools.count()
        self._changed = threading.Condition()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port = self._listener.getsockname()[1]
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections, and serve no more."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._listener.close()
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join()

    def topic(self, name: str, partitions: int = 1) -> TopicPartition:
        """Make a topic, or give it more partitions; return its first one."""
        with self._changed:
            for partition in range(partitions):
                self.logs.setdefault((name, partition), [])
        return TopicPartition(name, 0)

    def append(self, place: TopicPartition, number: int, data: Callable[[int], bytes]) -> None:
        """Append a batch of so many records, which is made for its first offset."""
        with self._changed:
            end = self._end(place)
            self.logs[place].append((end, end + number, data(end)))
            self._changed.notify_all()

    def produce(self, place: TopicPartition, *values: bytes | None) -> None:
        """Append a batch of these values."""
        self.append(place, len(values), lambda base: batch(base, *values))

    def join(self, runtime: Runtime, **kafka: object) -> Member:
        """Return a member of its one group, which subscribes to all topics."""
        document = {"brokers": [f"127.0.0.1:{self._port}"], "group_id": "g", "metadata_max_age": "100ms", **kafka}
        settings = Kafka.model_validate(document)
        return Member(lambda owner: KafkaGroupConsumer(settings, ".+", owner, runtime))

    def _end(self, place: tuple[str, int]) -> int:
        return self.logs[place][-1][1] if self.logs[place] else 0

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
                self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as stream:
            while len(head := stream.read(4)) == 4:
                data = stream.read(struct.unpack(">i", head)[0])
                key, version, correlation = struct.unpack_from(">hhi", data)
                name = _BY_KEY[key]
                answer = self._refused() if version != _VERSIONS[name] else self._answered(name, data)
                answer.with_header(correlation_id=correlation)
                connection.sendall(answer.encode(framed=True, header=True))

    def _refused(self) -> Any:  # noqa: ANN401 - kafka-python has no types
        return made(_kind("ApiVersionsResponse"), 0, {**self._api_versions(None), "error_code": _UNKNOWN_VERSION})

    def _answered(self, name: str, data: bytes) -> Any:  # noqa: ANN401 - likewise
        version = _VERSIONS[name]
        request = _kind(f"{name}Request").decode(data, version=version, header=True)
        with self._changed:
            fields = _ANSWERS[name](self, request)
        return made(_kind(f"{name}Response"), version, fields)

    def _api_versions(self, _: object) -> Fields:
        keys = [
            {"api_key": key, "min_version": _VERSIONS[name], "max_version": _VERSIONS[name]}
            for key, name in _BY_KEY.items()
        ]
        return {"api_keys": keys}

    def _metadata(self, request: Any) -> Fields:  # noqa: ANN401 - likewise
        topics: dict[str, list[Fields]] = defaultdict(list)
        for topic, partition in self.logs:
            leader = self.leaders.get((topic, partition), 1)
            topics[topic].append(
                {"partition_index": partition, "leader_id": leader, "replica_nodes": [1], "isr_nodes": [1]}
            )
        wanted = topics if request.topics is None else [each.name for each in request.topics]
        return {
            "brokers": [{"node_id": node, "host": "127.0.0.1", "port": self._port} for node in self.nodes],
            "controller_id": 1,
            "topics": [{"name": name, "partitions": topics[name]} for name in wanted if name in topics],
        }

    def _find_coordinator(self, _: object) -> Fields:
        return {"node_id": 1, "host": "127.0.0.1", "port": self._port}

    def _join_group(self, request: Any) -> Fields:  # noqa: ANN401 - likewise
        member = request.member_id or f"member-{next(self._lives)}"
        returns = request.group_instance_id and not request.member_id and self._assignment
        if not returns:
            self._generation += 1
            self._leader = member
        (protocol, *_) = request.protocols
        return {
            "generation_id": self._generation,
            "protocol_name": protocol.name,
            # To a static member that returns in time its former id is told, lest it assigns anew (KIP-345).
            "leader": self._leader,
            "member_id": member,
            "members": [] if returns else [{"member_id": member, "metadata": protocol.metadata}],
        }

    def _sync_group(self, request: Any) -> Fields:  # noqa: ANN401 - likewise
        if request.assignments:
            self._assignment = request.assignments[0].assignment
        return {"assignment": self._assignment}

    def _well(self, _: object) -> Fields:
        return {}

    def _offset_fetch(self, request: Any) -> Fields:  # noqa: ANN401 - likewise
        return _of_partitions(
            request, lambda _topic, own: {"partition_index": own, "committed_offset": -1}, "partition_indexes"
        )

    def _offset_commit(self, request: Any) -> Fields:  # noqa: ANN401 - likewise
        return _of_partitions(request, lambda _topic, own: {"partition_index": own.partition_index})

    def _list_offsets(self, request: Any) -> Fields:  # noqa: ANN401 - likewise
        def offset(topic: str, own: Any) -> Fields:  # noqa: ANN401 - likewise
            end = self._end((topic, own.partition_index)) if own.timestamp == -1 else 0
            return {"partition_index": own.partition_index, "offset": end}

        return _of_partitions(request, offset)

    def _fetch(self, request: Any) -> Fields:  # noqa: ANN401 - likewise
        end = time.monotonic() + request.max_wait_ms / 1000
        wanted = [
            ((topic.topic, own.partition), own.fetch_offset) for topic in request.topics for own in topic.partitions
        ]
        while not any(self._found(*each) for each in wanted) and (left := end - time.monotonic()) > 0:
            self._changed.wait(left)
        responses: dict[str, list[Fields]] = defaultdict(list)
        for place, offset in wanted:
            responses[place[0]].append(
                {
                    "partition_index": place[1],
                    "error_code": self.errors.get(place, 0),
                    "high_watermark": self._end(place) + self.open.get(place, 0),
                    "last_stable_offset": self._end(place),
                    "records": self._found(place, offset) if place not in self.errors else b"",
                    "aborted_transactions": [],
                }
            )
        return {"responses": [{"topic": topic, "partitions": own} for topic, own in responses.items()]}

    def _found(self, place: tuple[str, int], offset: int) -> bytes:
        return next((data for _, end, data in self.logs[place] if end > offset), b"")


def _of_partitions(request: Any, answer: Callable[[str, Any], Fields], names: str = "partitions") -> Fields:  # noqa: ANN401
    """Return an answer for each partition that was asked for."""
    return {
        "topics": [
            {"name": topic.name, "partitions": [answer(topic.name, own) for own in getattr(topic, names)]}
            for topic in request.topics
        ]
    }


_ANSWERS: dict[str, Callable[[SmallKafka, Any], Fields]] = {
    "ApiVersions": SmallKafka._api_versions,
    "Metadata": SmallKafka._metadata,
    "FindCoordinator": SmallKafka._find_coordinator,
    "JoinGroup": SmallKafka._join_group,
    "SyncGroup": SmallKafka._sync_group,
    "Heartbeat": SmallKafka._well,
    "LeaveGroup": SmallKafka._well,
    "OffsetFetch": SmallKafka._offset_fetch,
    "OffsetCommit": SmallKafka._offset_commit,
    "ListOffsets": SmallKafka._list_offsets,
    "Fetch": SmallKafka._fetch,
}
