import type { Cipher } from "./ciphers.ts";
import { type Provider, startsWith } from "./provider.ts";

/** A key of the configuration. */
export interface NamedCipher {
  readonly name: string;
  readonly cipher: Cipher;
}

/**
 * A provider with keys of its own: the first writes, all read.
 *
 *   k8s:enc:aesgcm:v1:KEY:encrypted
 */
export function keyProvider(type: "aesgcm" | "aescbc" | "secretbox", keys: readonly NamedCipher[]): Provider {
  const named = keys.map(({ name, cipher }) => ({ cipher, prefix: Buffer.from(`${name}:`) }));
  const [first] = named;
  if (!first) throw new Error(`${type} needs a key`);
  return {
    prefix: Buffer.from(`k8s:enc:${type}:v1:`),
    seal: (plain, place) => Buffer.concat([first.prefix, first.cipher.seal(plain, place)]),
    open(sealed, place) {
      let fault: unknown;
      for (const { prefix, cipher } of named) {
        if (!startsWith(sealed, prefix)) continue;
        try {
          return cipher.open(sealed.subarray(prefix.length), place);
        } catch (error) {
          // The name of a key may start with that of another.
          fault ??= error;
        }
      }
      const of = type === "secretbox" ? "Secretbox" : "AES";
      throw fault ?? new Error(`no matching key was found for the provided ${of} transformer`);
    },
    isStale: (sealed) => !startsWith(sealed, first.prefix),
  };
}

const encrypted = Buffer.from("k8s:enc:");

/** Values that some provider has encrypted start like this, and no JSON does. */
export const isEncrypted = (stored: Uint8Array): boolean => startsWith(stored, encrypted);

/** Stores values as they are. */
export const identity: Provider = {
  prefix: Buffer.alloc(0),
  seal: (plain) => plain,
  open(stored) {
    if (isEncrypted(stored)) throw new Error("identity transformer tried to read encrypted data");
    return stored;
  },
  isStale: isEncrypted,
};
