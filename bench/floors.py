"""What the machine itself allows: how fast AES-CTR makes entropy, and how fast memory takes a result."""

from __future__ import annotations

import os

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from bench.measure import Contender

BLOCK = 1 << 17
KEYSTREAM = 1 << 25
COPIED = 1 << 26


def aes_ctr() -> Contender:
    """The AES-256-CTR keystream, in blocks that fit the cache."""
    encryptor = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor()
    zeros, target = bytes(BLOCK), bytearray(BLOCK)

    def run() -> None:
        for _ in range(KEYSTREAM // BLOCK):
            encryptor.update_into(zeros, target)

    return Contender("AES-256-CTR", run, KEYSTREAM, "bytes of keystream")


def memory() -> Contender:
    """One large copy: the bytes that can be written to memory in a second."""
    source = np.ones(COPIED // 8, dtype=np.uint64)
    target = np.empty_like(source)
    return Contender("memory", lambda: np.copyto(target, source), COPIED, "bytes copied")


def both() -> list[Contender]:
    """The two floors; they take turns with the contenders of every case."""
    return [aes_ctr(), memory()]
