// HPKE (RFC 9180) in base mode, once: X25519, HKDF-SHA256, ChaCha20-Poly1305. WebCrypto is not used, because browsers
// have none on pages without https.
import { chacha20poly1305 } from "@noble/ciphers/chacha.js";
import { x25519 } from "@noble/curves/ed25519.js";
import { expand, extract } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { type Bytes, joined, random, utf8 } from "./bytes.js";

const VERSION = utf8("HPKE-v1");
const KEM = Uint8Array.of(0x4b, 0x45, 0x4d, 0, 0x20);
const SUITE = Uint8Array.of(0x48, 0x50, 0x4b, 0x45, 0, 0x20, 0, 1, 0, 3);
const NOTHING = new Uint8Array(0);

const extracted = (suite: Bytes, salt: Bytes, label: string, secret: Bytes): Bytes =>
  extract(sha256, joined(VERSION, suite, utf8(label), secret), salt);
const expanded = (suite: Bytes, key: Bytes, label: string, info: Bytes, size: number): Bytes =>
  expand(sha256, key, joined(Uint8Array.of(size >> 8, size & 255), VERSION, suite, utf8(label), info), size);

/** For the holder of an X25519 key: the key of this message, and the cipher text. */
export function sealed(key: Bytes, plain: Bytes, info: Bytes, secret: Bytes = random(32)): Bytes {
  const once = x25519.getPublicKey(secret);
  const shared = x25519.getSharedSecret(secret, key);
  const prk = extracted(KEM, NOTHING, "eae_prk", shared);
  const secretShared = expanded(KEM, prk, "shared_secret", joined(once, key), 32);
  const context = joined(
    Uint8Array.of(0),
    extracted(SUITE, NOTHING, "psk_id_hash", NOTHING),
    extracted(SUITE, NOTHING, "info_hash", info),
  );
  const schedule = extracted(SUITE, secretShared, "secret", NOTHING);
  const cipher = expanded(SUITE, schedule, "key", context, 32);
  const nonce = expanded(SUITE, schedule, "base_nonce", context, 12);
  return joined(once, chacha20poly1305(cipher, nonce).encrypt(plain));
}
