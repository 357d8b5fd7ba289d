import { createPublicKey } from "node:crypto";
import { type SigningKey, signingKey, type VerifyingKey, verifyingKey } from "#lib/crypto/jwt.ts";
import { readPem } from "#lib/crypto/pem.ts";
import { pemOf } from "#lib/crypto/x509.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { ConfigFileError, readConfigFile } from "#server/config/config-file.ts";
import type { AccountOptions } from "./options.ts";

/** How tokens of service accounts are issued and verified. */
export interface AccountSettings {
  /** The first one issues; tokens of the others are accepted too. */
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
  /** Signs new tokens. */
  readonly key: SigningKey;
  /** Verify tokens: several while keys are being replaced. */
  readonly keys: readonly VerifyingKey[];
  readonly jwksUri: string;
  readonly maxExpirationSeconds?: number;
  /** Whether the kubelet's tokens live longer than asked for, for programs that never reload them. */
  readonly extendsExpiration: boolean;
}

export const defaultIssuer = "https://kubernetes.default.svc.cluster.local";

/** Issuers whose tokens no other authenticator may judge. */
export const issuersOf = ({ issuers = [] }: AccountOptions): readonly string[] =>
  issuers.length > 0 ? issuers : [defaultIssuer];

/** Reads the keys that the options name. `own` is the key that the server has made for itself. */
export async function loadAccounts(options: AccountOptions): Promise<(own: SigningKey) => AccountSettings> {
  const { signingKeyFile, keyFiles = [], audiences = [], maxExpirationSeconds } = options;
  const issuers = issuersOf(options);
  const chosen = signingKeyFile ? await readSigningKey(signingKeyFile) : undefined;
  const more = (await Promise.all(keyFiles.map(readKeys))).flat();
  return (own) => {
    const key = chosen ?? own;
    return {
      issuers,
      audiences: audiences.length > 0 ? audiences : issuers,
      key,
      keys: [key, ...more.filter(({ id }) => id !== key.id)],
      jwksUri: options.jwksUri ?? `${issuers[0]}/openid/v1/jwks`,
      ...(maxExpirationSeconds === undefined ? {} : { maxExpirationSeconds }),
      extendsExpiration: options.extendsExpiration ?? true,
    };
  };
}

async function readSigningKey(path: string): Promise<SigningKey> {
  const text = await readConfigFile(path, "service-account-signing-key-file");
  try {
    return signingKey(text);
  } catch (cause) {
    throw new ConfigFileError(`${path} has no private key in PEM (${messageOf(cause)})`, { cause });
  }
}

/** The public keys of a file; of private keys, the public half. */
async function readKeys(path: string): Promise<VerifyingKey[]> {
  const text = await readConfigFile(path, "service-account-key-file");
  const blocks = readPem(text).filter(({ label }) => label.endsWith("KEY") || label === "CERTIFICATE");
  try {
    const keys = blocks.map(({ label, bytes }) => verifyingKey(createPublicKey(pemOf(label, bytes))));
    if (keys.length > 0) return keys;
  } catch (cause) {
    throw new ConfigFileError(`${path} has a key that cannot be used (${messageOf(cause)})`, { cause });
  }
  throw new ConfigFileError(`${path} has no key in PEM: check --service-account-key-file`);
}
