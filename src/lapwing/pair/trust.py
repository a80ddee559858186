"""Against whom an answer of two servers is private, and what must hold for that."""

from __future__ import annotations

from lapwing.privacy import Trust

TRUST = Trust(
    towards="either server alone",
    not_towards="both together",
    behaviour="semi-honest",
    assumes=("Diffie-Hellman in ristretto255", "AES-128", "SHA-256"),
)
"""Of every answer. It also holds against everybody who sees answers and is neither server."""
