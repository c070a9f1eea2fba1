"""Whether the certificates of Dask's configuration fit a scheduler, in words; distributed itself tells little of that."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from urllib.parse import urlsplit

from distributed.security import Security

from automl.errors import ServiceError
from automl_tasks.cluster.reachable import PROBE_SECONDS, named

CONFIGURED = "distributed.comm.tls"
"""Where the configuration of Dask names the files."""
_NAMES = {"ca_file": "ca-file", "cert": "client.cert", "key": "client.key"}


def check_encryption(address: str) -> None:
    """Shake hands with a scheduler that is to use TLS, and refuse one that must but does not.

    Parameters
    ----------
    address
        Such as ``tls://HOST:8786``; it has been found to be open.

    Raises
    ------
    ServiceError
        If files are missing or cannot be used, or either side does not accept the other's certificate.
    """
    security, parts = Security(), urlsplit(address)
    if parts.scheme == "tls":
        _shake_hands(address, str(parts.hostname), int(parts.port or 0), _Files(security))
    elif security.require_encryption:
        raise ServiceError(
            f"{named(address)} is not used: the configuration of Dask requires encryption "
            f"(distributed.comm.require-encryption); name it tls://{parts.netloc}"
        )


class _Files:
    """The files that the configuration of Dask names for a client."""

    def __init__(self, security: Security) -> None:
        self._security = security
        self._files = security.get_tls_config_for_role("client")

    def named(self, kind: str) -> str:
        """A file and the key of the configuration that names it."""
        value = self._files[kind]
        file = "the text" if "\n" in value else value
        return f"{file} ({CONFIGURED}.{_NAMES[kind]})"

    def context(self, address: str) -> ssl.SSLContext:
        """What a client of distributed itself connects with."""
        missing = [
            f"{CONFIGURED}.{_NAMES[kind]}" for kind in ("ca_file", "cert") if not self._files[kind]
        ]
        if missing:
            raise ServiceError(
                f"{named(address)} needs certificates: the configuration of Dask lacks "
                f"{' and '.join(missing)}"
            )
        self._check_readable()
        try:
            found: ssl.SSLContext = self._security.get_connection_args("client")["ssl_context"]
        except ssl.SSLError as error:
            files = ", ".join(self.named(kind) for kind in _NAMES if self._files[kind])
            raise ServiceError(f"certificates cannot be used: {files}: {_words(error)}") from None
        return found

    def _check_readable(self) -> None:
        for kind in _NAMES:
            value = self._files[kind]
            if not value or "\n" in value:  # a text instead of a file
                continue
            try:
                Path(value).open("rb").close()
            except OSError as error:
                reason = error.strerror or error
                raise ServiceError(f"{self.named(kind)} cannot be read: {reason}") from None


def _shake_hands(address: str, host: str, port: int, files: _Files) -> None:
    context = files.context(address)
    try:
        with (
            socket.create_connection((host, port), PROBE_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=host) as encrypted,
        ):
            encrypted.recv(
                1
            )  # it speaks first, and says only then what it thinks of our certificate
    except ssl.SSLCertVerificationError as error:
        raise ServiceError(
            f"{named(address)} shows a certificate that fails the check by {files.named('ca_file')}: "
            f"{error.verify_message}"
        ) from None
    except ssl.SSLError as error:
        raise ServiceError(_refusal(address, error, files)) from None
    except OSError as error:
        raise ServiceError(f"{named(address)} does not answer: {error}") from None


def _refusal(address: str, error: ssl.SSLError, files: _Files) -> str:
    if "ALERT" in (error.reason or ""):
        return f"{named(address)} refuses the certificate {files.named('cert')}: {_words(error)}"
    return f"{named(address)} does not speak TLS: {_words(error)}"


def _words(error: ssl.SSLError) -> str:
    """``key values mismatch`` of KEY_VALUES_MISMATCH."""
    return (error.reason or str(error)).replace("_", " ").lower()
