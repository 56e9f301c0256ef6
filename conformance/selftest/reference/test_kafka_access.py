"""TLS and passwords between the reference and a real Kafka: who is let in, and what is said of who is not."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest
import trustme
import yaml
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from kafka import KafkaAdminClient, KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.admin import UserScramCredentialUpsertion

from isolane.conformance.selftest.reference.fakes import config
from isolane.conformance.selftest.reference.kafka_bench import Member, Topics, closing, values
from isolane.conformance.selftest.reference.test_end_to_end import ran
from isolane.fixtures.services.kafka import Kafka, NativeKafka
from isolane.fixtures.services.kafka_settings import Access
from isolane.reference.consumer import ConsumerFailed, KafkaUnavailable, TopicPartition
from isolane.reference.dead_letter import DeadLetters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isolane.reference.runtime import Runtime

pytestmark = pytest.mark.services

PASSWORD = "w0rd of a kind"  # noqa: S105 - of a broker that lives as long as these tests
WRONG = "n0t that one"


class Guarded:
    """A broker that lets in whoever knows the password, and the authority that vouches for it."""

    def __init__(self, folder: Path) -> None:
        """Make the broker's identity; nothing is started."""
        authority = trustme.CA()
        self.ca_file = folder / "ca.pem"
        authority.cert_pem.write_to_path(self.ca_file)
        certificate = authority.issue_cert("127.0.0.1")
        key = load_pem_private_key(certificate.private_key_pem.bytes(), None)
        chain = b"".join(blob.bytes() for blob in certificate.cert_chain_pems)
        identity = folder / "identity.pem"
        identity.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + chain)
        self.kafka: NativeKafka = Kafka.native(folder / "kafka", access=Access({"isolane": PASSWORD}, identity))

    def admit(self, mechanism: str) -> None:
        """Let the user in by a SCRAM mechanism, too."""
        admin = KafkaAdminClient(bootstrap_servers=self.kafka.bootstrap)
        change = UserScramCredentialUpsertion("isolane", mechanism, PASSWORD)
        assert admin.alter_user_scram_credentials([change]) == {"isolane": None}
        admin.close()

    def settings(self, mechanism: str, protocol: str, password: str = PASSWORD) -> dict[str, Any]:
        """Return the part of the configuration that lets the reference in."""
        sasl = {"mechanism": mechanism, "username": "isolane", "password": password}
        tls = {"tls": {"ca_file": str(self.ca_file)}} if protocol == "SASL_SSL" else {}
        return {"brokers": [self.kafka.secured[protocol].address], "auth": {"sasl": sasl}, **tls}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """One broker for all tests here."""
    guarded = Guarded(tmp_path_factory.mktemp("guarded"))
    with guarded.kafka:
        yield guarded


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_member_that_knows_the_password_receives(
    guarded: Guarded, runtime: Runtime, mechanism: str, protocol: str
) -> None:
    """Each mechanism works, with TLS under an authority of one's own and without; dead letters are written likewise."""
    if mechanism != "PLAIN":
        guarded.admit(mechanism)
    settings = guarded.settings(mechanism, protocol)
    topics = Topics(guarded.kafka)
    place = TopicPartition(topics.create("one"), 0)
    topics.produce(place.topic, *values(3))
    member = Member(topics.connect(runtime, **settings))
    member.poll_until(lambda: member.received[place] == values(3))
    member.consumer.close()
    letters = DeadLetters(config(kafka=settings))
    letters.send(*place, 0, b"dead", "as a test")
    letters.close()
    with closing(KafkaConsumer(bootstrap_servers=guarded.kafka.bootstrap)) as reader:
        dead = KafkaTopicPartition(f"{place.topic}.dead_letter", 0)
        assert reader.end_offsets([dead]) == {dead: 1}


@pytest.mark.usefixtures("refused_connections")
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_named_as_the_cause_and_not_told(
    guarded: Guarded, runtime: Runtime, caplog: pytest.LogCaptureFixture, mechanism: str, protocol: str
) -> None:
    """OPS-3: who was refused, by which mechanism, long before a broker counts as away; the log has no secret."""
    guarded.admit("SCRAM-SHA-256")
    began = time.monotonic()
    with pytest.raises(ConsumerFailed, match=f"^authentication as 'isolane' by {mechanism} failed: ") as refused:
        Member(Topics(guarded.kafka).connect(runtime, **guarded.settings(mechanism, protocol, WRONG)))
    assert time.monotonic() - began < 5
    assert WRONG not in f"{refused.value}{caplog.text}"


@pytest.mark.parametrize(("password", "code"), [(PASSWORD, 0), (WRONG, 1)])
def test_a_check_says_whether_the_brokers_let_it_in(guarded: Guarded, tmp_path: Path, password: str, code: int) -> None:
    """`--check brokers`: it ends with exit code 0, or with 1 and a line that names mechanism and user."""
    path = configured(tmp_path, guarded.settings("PLAIN", "SASL_PLAINTEXT", password))
    ended, printed, told = ran("--config", path, "--check", "brokers")
    assert (ended, printed) == (code, "")
    assert ("kafka: authentication as 'isolane' by PLAIN failed: " in told) == bool(code)
    assert WRONG not in told


def test_a_process_with_a_wrong_password_ends(guarded: Guarded, tmp_path: Path) -> None:
    """Its exit code is 1, and the last line of its log says why; nothing of it is the secret."""
    path = configured(tmp_path, guarded.settings("SCRAM-SHA-256", "SASL_PLAINTEXT", WRONG))
    guarded.admit("SCRAM-SHA-256")
    ended, _, told = ran("--config", path)
    last = orjson.loads(told.splitlines()[-1])
    assert ended == 1
    assert last["event"] == "crashed"
    assert last["error"].startswith("authentication as 'isolane' by SCRAM-SHA-256 failed: ")
    assert WRONG not in told


def configured(folder: Path, kafka: dict[str, Any]) -> str:
    """Write a configuration with these settings of Kafka; its path."""
    path = folder / "config.yaml"
    tenants = {"a": {"topics": ["^a$"], "elasticsearch": {"endpoints": ["http://127.0.0.1:1"]}}}
    path.write_text(yaml.safe_dump({"kafka": kafka, "tenants": tenants}))
    return str(path)


@pytest.mark.usefixtures("refused_connections")
def test_a_broker_that_nobody_vouches_for_is_told_nothing(guarded: Guarded, runtime: Runtime) -> None:
    """With another authority, or none but the system's, no password is sent."""
    settings = guarded.settings("PLAIN", "SASL_SSL")
    settings["tls"] = {}
    with pytest.raises(KafkaUnavailable, match="certificate verify failed"):
        Member(Topics(guarded.kafka).connect(runtime, **settings))


def test_a_check_says_why_no_broker_answers(guarded: Guarded, tmp_path: Path) -> None:
    """`--check brokers`: what went wrong with the last connection is told, not only that there was none.

    Each waits for the ten seconds in which a broker may yet answer: they do so side by side.
    """
    settings = guarded.settings("PLAIN", "SASL_SSL")
    local = [settings["brokers"][0].replace("127.0.0.1", "localhost")]
    not_expected = "TLS or authentication is not what the broker expects there"
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"tls": {}}, "certificate verify failed: unable to get local issuer certificate"),
        ({"brokers": local}, "certificate verify failed: Hostname mismatch"),
        ({"brokers": ["127.0.0.1:1"]}, "127.0.0.1:1: KafkaConnectionError: 111 ECONNREFUSED"),
        (guarded.settings("PLAIN", "SASL_PLAINTEXT"), not_expected),
        ({"tls": None}, not_expected),
        ({"auth": {}}, not_expected),
    ]

    def checked(number: int) -> tuple[int, str, str]:
        folder = tmp_path / str(number)
        folder.mkdir()
        return ran("--config", configured(folder, {**settings, **wrong[number][0]}), "--check", "brokers")

    with ThreadPoolExecutor(len(wrong)) as pool:
        found = list(pool.map(checked, range(len(wrong))))
    for (_, cause), (ended, _, told) in zip(wrong, found, strict=True):
        assert ended == 1
        assert cause in told
        assert PASSWORD not in told
