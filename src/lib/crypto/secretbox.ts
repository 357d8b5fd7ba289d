import { timingSafeEqual } from "node:crypto";
import { poly1305 } from "./poly1305.ts";
import { xsalsa20 } from "./salsa20.ts";

/** NaCl's secretbox, XSalsa20-Poly1305: the tag, followed by the encrypted bytes. */
export const boxOverhead = 16;
export const boxNonceBytes = 24;

/** Encrypts. A nonce must not be used twice with one key. */
export function sealBox(plain: Uint8Array, nonce: Uint8Array, key: Uint8Array): Uint8Array {
  // The first half block of the key stream is the key of the tag.
  const bytes = new Uint8Array(32 + plain.length);
  bytes.set(plain, 32);
  xsalsa20(bytes, key, nonce);
  const sealed = bytes.subarray(32);
  const box = new Uint8Array(boxOverhead + plain.length);
  box.set(poly1305(sealed, bytes.subarray(0, 32)));
  box.set(sealed, boxOverhead);
  return box;
}

/** Decrypts; undefined if the box was not made with this key and nonce, or was changed. */
export function openBox(box: Uint8Array, nonce: Uint8Array, key: Uint8Array): Uint8Array | undefined {
  if (box.length < boxOverhead) return undefined;
  const sealed = box.subarray(boxOverhead);
  const oneTimeKey = new Uint8Array(32);
  xsalsa20(oneTimeKey, key, nonce);
  if (!timingSafeEqual(poly1305(sealed, oneTimeKey), box.subarray(0, boxOverhead))) return undefined;
  const bytes = new Uint8Array(32 + sealed.length);
  bytes.set(sealed, 32);
  xsalsa20(bytes, key, nonce);
  return bytes.subarray(32);
}
