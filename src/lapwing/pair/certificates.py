"""Keys of servers and analysts: each makes its own, and the file of the pair names their certificates.

Nobody signs for anybody: a certificate is trusted because it stands in the file that all parties have.
"""

from __future__ import annotations

import datetime as dt
import os
import ssl
from collections.abc import Iterable
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from lapwing.errors import InvalidParameter

YEARS = 10
_BEGIN = "-----BEGIN CERTIFICATE-----"


def new_certificate(key_file: Path, name: str) -> str:
    """Make a key, keep it in a file that only its owner can read, and return its certificate."""
    key = Ed25519PrivateKey.generate()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=365 * YEARS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, None)
    )
    text = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        handle = os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidParameter("key", str(key_file), "is there already", "Use it, or move it away first.") from None
    with os.fdopen(handle, "wb") as file:
        file.write(private + text)
    return text.decode("ascii")


def listening(key_file: Path, trusted: Iterable[str]) -> ssl.SSLContext:
    """For a server: TLS 1.3; clients may show a certificate, which is then one of these."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(key_file)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_verify_locations(cadata="\n".join(trusted))  # whether or not each ends with a line
    return context


def calling(server: str, key_file: Path | None = None) -> ssl.SSLContext:
    """For a client of the server with this certificate, and no other."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # the certificate itself is known
    context.load_verify_locations(cadata=server)
    if key_file is not None:
        context.load_cert_chain(key_file)
    return context


def certificate_in(file: Path) -> str:
    """The certificate in a file, which may also hold its key."""
    try:
        text = file.read_text(encoding="ascii")
        certificate = text[text.index(_BEGIN) :]
        x509.load_pem_x509_certificate(certificate.encode())
    except OSError:
        hint = "Name a file that was made with lapwing pair key."
        raise InvalidParameter("file", str(file), "does not exist, or cannot be read", hint) from None
    except ValueError:
        hint = "Name a file that was made with lapwing pair key."
        raise InvalidParameter("file", str(file), "has no certificate in it", hint) from None
    return certificate


def check_key(key_file: Path, certificate: str, whose: str) -> None:
    """Refuse a key that is not the one of this certificate, before anybody is called with it or listened to."""
    if encoded(certificate_in(key_file)) != encoded(certificate):
        why = f"is not the key of {whose}: its certificate is not the one in the file of the pair"
        raise InvalidParameter("key", str(key_file), why, "Use the key that belongs to this file.")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(key_file)
    except (OSError, ValueError):
        why = "has no key that belongs to its certificate"
        raise InvalidParameter("key", str(key_file), why, "Use the file that lapwing pair key wrote.") from None


def encoded(certificate: str) -> bytes:
    """As a connection shows it."""
    return ssl.PEM_cert_to_DER_cert(certificate)
