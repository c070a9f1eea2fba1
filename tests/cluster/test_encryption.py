"""A cluster with TLS, by the configuration of Dask, and the sentence for each way in which certificates do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dask
import pytest
import yaml
from command_line import Command, decisions
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from automl.errors import ServiceError
from automl_tasks.cluster.connection import connect

from .conftest import Cluster

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
LIFE = timedelta(hours=1)
TRAIN = (
    *("train", "sklearn:wine", "--target", "target", "--trials", "4", "--seed", "7"),
    *("--families", "decision_tree,knn,gaussian_nb", "--preset", "fast"),
)


@dataclass(frozen=True)
class Authority:
    """Signs certificates, and has signed one.

    Parameters
    ----------
    ca, cert, key : files in PEM form
    """

    ca: Path
    cert: Path
    key: Path

    @classmethod
    def made(cls, folder: Path, *, age: timedelta = timedelta()) -> Authority:
        """A new one in a folder; its certificates are `age` older than now."""
        folder.mkdir()
        found = cls(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")
        own, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        began = datetime.now(UTC) - LIFE / 2 - age
        found.ca.write_bytes(_certificate("authority", own, own, began))
        found.cert.write_bytes(_certificate("member", other, own, began))
        found.key.write_bytes(
            other.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return found

    def configuration(self, **changes: Any) -> dict[str, Any]:
        """The configuration of Dask by which scheduler, workers and clients use it."""
        ca = changes.pop("ca-file", str(self.ca))
        pair = {"cert": str(self.cert), "key": str(self.key), **changes}
        tls = {"ca-file": ca, **dict.fromkeys(("scheduler", "worker", "client"), pair)}
        return {"distributed": {"comm": {"require-encryption": True, "tls": tls}}}


def _certificate(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    began: datetime,
) -> bytes:
    def named(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    made = (
        x509.CertificateBuilder(named("authority"), named(subject), key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(began)
        .not_valid_after(began + LIFE)
        .add_extension(x509.BasicConstraints(ca=key is signer, path_length=None), critical=True)
    )
    return made.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def own(folder: Path) -> Authority:
    return Authority.made(folder / "own")


@pytest.fixture(scope="module")
def other(folder: Path) -> Authority:
    return Authority.made(folder / "other")


@pytest.fixture(scope="module")
def encrypted(folder: Path, own: Authority) -> Iterator[Cluster]:
    """A cluster that speaks TLS alone, with one worker."""
    file = folder / "dask.yaml"
    file.write_text(yaml.safe_dump(own.configuration()))
    found = Cluster(folder, DASK_CONFIG=str(file))
    try:
        found.worker()
        with configured(own.configuration()):
            found.wait_for_workers(1)
        yield found
    finally:
        found.close()


@pytest.mark.usefixtures("_with_server")
def test_a_command_trains_over_tls_what_it_trains_here(encrypted: Cluster, tmp_path: Path) -> None:
    assert encrypted.address.startswith("tls://")
    command, here = Command(tmp_path / "home"), Command(tmp_path / "here")
    config = str(encrypted.folder / "dask.yaml")
    result = command.json(*TRAIN, "--dask", encrypted.address, DASK_CONFIG=config)
    expected = here.json(*TRAIN)
    assert decisions(result) == decisions(expected)
    assert result["score"] == expected["score"]


def configured(configuration: dict[str, Any]) -> Any:
    """While this process has that beside Dask's own configuration."""
    return dask.config.set(dask.config.merge(dask.config.config, configuration))


def refusal(address: str, configuration: dict[str, Any]) -> str:
    """What a client with this configuration is told."""
    with configured(configuration), pytest.raises(ServiceError) as told:
        connect(address)
    return str(told.value)


def test_a_certificate_of_another_authority_is_refused_in_one_sentence(
    encrypted: Cluster, own: Authority, other: Authority
) -> None:
    told = refusal(encrypted.address, other.configuration())
    assert f"shows a certificate that fails the check by {other.ca}" in told
    foreign = own.configuration(cert=str(other.cert), key=str(other.key))
    told = refusal(encrypted.address, foreign)
    assert f"refuses the certificate {other.cert} (distributed.comm.tls.client.cert): " in told


def test_a_certificate_that_has_ended_is_refused_by_either_side(
    encrypted: Cluster, folder: Path, tmp_path: Path
) -> None:
    old = Authority.made(folder / "old", age=LIFE)
    file = tmp_path / "old.yaml"
    file.write_text(yaml.safe_dump(old.configuration()))
    others = Cluster(tmp_path, DASK_CONFIG=str(file))
    try:
        told = refusal(others.address, old.configuration())
    finally:
        others.close()
    assert told.endswith("(distributed.comm.tls.ca-file): certificate has expired")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"cert": None}, "the configuration of Dask lacks distributed.comm.tls.client.cert"),
        ({"ca-file": "/none.pem"}, "/none.pem (distributed.comm.tls.ca-file) cannot be read: No"),
        ({"key": __file__}, f"{__file__} (distributed.comm.tls.client.key): "),
    ],
)
def test_files_that_are_missing_or_of_no_use_are_named(
    encrypted: Cluster, own: Authority, changes: dict[str, Any], told: str
) -> None:
    assert told in refusal(encrypted.address, own.configuration(**changes))


def test_an_address_of_the_wrong_kind_is_refused_with_the_right_one(
    encrypted: Cluster, cluster: Cluster, own: Authority
) -> None:
    plain = encrypted.address.replace("tls://", "tcp://")
    assert f"name it {encrypted.address}" in refusal(plain, own.configuration())
    assert f"name it {encrypted.address}" in refusal(plain, {})
    tls = cluster.address.replace("tcp://", "tls://")
    assert "does not speak TLS" in refusal(tls, own.configuration())


def test_the_command_says_it_without_a_traceback(
    encrypted: Cluster, other: Authority, tmp_path: Path
) -> None:
    file = tmp_path / "other.yaml"
    file.write_text(yaml.safe_dump(other.configuration()))
    command = Command(tmp_path / "home")
    process = command.start(*TRAIN, "--dask", encrypted.address, DASK_CONFIG=str(file))
    _, err = process.communicate(timeout=170)
    assert process.returncode == 4, err
    (told,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert "shows a certificate that fails the check by" in told
    assert "Traceback" not in err
    assert command.json("runs") == []
