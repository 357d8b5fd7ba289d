import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { boxNonceBytes, boxOverhead, openBox, sealBox } from "#lib/crypto/secretbox.ts";
import { lastingConcat } from "#lib/data/lasting-bytes.ts";

/** Encrypts with one key. The nonce stands before the encrypted bytes. */
export interface Cipher {
  seal(plain: Uint8Array, place: Buffer): Uint8Array;
  open(sealed: Uint8Array, place: Buffer): Uint8Array;
}

const nonceBytes = 12;
const tagBytes = 16;
const blockBytes = 16;

/** The messages are upstream's. */
const tooShort = () => new Error("the stored data was shorter than the required size");
const notAuthentic = () => new Error("cipher: message authentication failed");

/** AES-GCM with random nonces and the place as authenticated data: nonce, encrypted bytes, tag. */
export function aesGcm(key: Uint8Array): Cipher {
  const algorithm = `aes-${(key.length * 8) as 128 | 192 | 256}-gcm` as const;
  return {
    seal(plain, place) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, key, nonce);
      cipher.setAAD(place);
      return lastingConcat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, place) {
      if (sealed.length < nonceBytes) throw tooShort();
      if (sealed.length < nonceBytes + tagBytes) throw notAuthentic();
      const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes });
      decipher.setAAD(place);
      decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
      const plain = decipher.update(sealed.subarray(nonceBytes, sealed.length - tagBytes));
      try {
        return lastingConcat([plain, decipher.final()]);
      } catch {
        throw notAuthentic();
      }
    },
  };
}

/** AES-CBC with PKCS#7 padding: upstream's format has no authentication, so neither have we. */
export function aesCbc(key: Uint8Array): Cipher {
  const algorithm = `aes-${key.length * 8}-cbc`;
  return {
    seal(plain) {
      const iv = randomBytes(blockBytes);
      const cipher = createCipheriv(algorithm, key, iv);
      return lastingConcat([iv, cipher.update(plain), cipher.final()]);
    },
    open(sealed) {
      if (sealed.length < blockBytes) throw tooShort();
      if (sealed.length % blockBytes !== 0) throw new Error("the stored data is not a multiple of the block size");
      const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, blockBytes));
      try {
        return lastingConcat([decipher.update(sealed.subarray(blockBytes)), decipher.final()]);
      } catch {
        throw new Error("invalid padding on input");
      }
    },
  };
}

/** XSalsa20-Poly1305 with random nonces. Like upstream's, it does not bind a value to its place. */
export const secretbox = (key: Uint8Array): Cipher => ({
  seal(plain) {
    const nonce = randomBytes(boxNonceBytes);
    return lastingConcat([nonce, sealBox(plain, nonce, key)]);
  },
  open(sealed) {
    if (sealed.length < boxNonceBytes + boxOverhead) throw tooShort();
    const plain = openBox(sealed.subarray(boxNonceBytes), sealed.subarray(0, boxNonceBytes), key);
    if (!plain) throw notAuthentic();
    return lastingConcat([plain]);
  },
});

const infoBytes = 32;

/**
 * AES-GCM with a new key for every value, derived from a seed and 32 random bytes that stand before the value: so that
 * one seed can encrypt any number of values.
 */
export const derivedAesGcm = (seed: Uint8Array): Cipher => ({
  seal(plain, place) {
    const info = randomBytes(infoBytes);
    return lastingConcat([info, aesGcm(derive(seed, info)).seal(plain, place)]);
  },
  open(sealed, place) {
    if (sealed.length < infoBytes) throw tooShort();
    return aesGcm(derive(seed, sealed.subarray(0, infoBytes))).open(sealed.subarray(infoBytes), place);
  },
});

/** The first 32 bytes of the expand step of HKDF with SHA-256. The seed is random, so it needs no extract step. */
const derive = (seed: Uint8Array, info: Uint8Array): Uint8Array =>
  createHmac("sha256", seed).update(info).update(Uint8Array.of(1)).digest();
