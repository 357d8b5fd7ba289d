import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

export type JwtAlgorithm = "ES256" | "ES384" | "ES512" | "RS256";

/** The public half of a signing key. */
export interface VerifyingKey {
  /** Base64url of the SHA-256 of the public key: it identifies the key and reveals nothing about it. */
  readonly id: string;
  readonly algorithm: JwtAlgorithm;
  readonly publicKey: KeyObject;
}
export interface SigningKey extends VerifyingKey {
  readonly privateKey: KeyObject;
}

/** A parsed token. Nothing in it can be trusted before `isSignedBy` has verified it. */
export interface ParsedJwt {
  readonly header: JwtPart;
  readonly claims: JwtPart;
  /** The text that the signature covers. */
  readonly signed: string;
  readonly signature: Uint8Array;
}
export type JwtPart = Readonly<Record<string, unknown>>;

export function signingKey(pem: string): SigningKey {
  const privateKey = createPrivateKey(pem);
  return { ...verifyingKey(createPublicKey(privateKey)), privateKey };
}

export function verifyingKey(publicKey: KeyObject): VerifyingKey {
  const spki = publicKey.export({ type: "spki", format: "der" });
  return { id: createHash("sha256").update(spki).digest("base64url"), algorithm: algorithmOf(publicKey), publicKey };
}

/** `header.claims.signature`, each in base64url. */
export function signJwt(key: SigningKey, claims: JwtPart): string {
  const signed = `${encoded({ alg: key.algorithm, kid: key.id })}.${encoded(claims)}`;
  const input = { key: key.privateKey, dsaEncoding: "ieee-p1363" } as const;
  return `${signed}.${sign(hashes[key.algorithm], Buffer.from(signed), input).toString("base64url")}`;
}

/** Far more than our tokens need, and short enough to parse before the caller is authenticated. */
const maxTokenChars = 10 * 1024;

/**
 * Returns undefined if the text is not a token. A token has exactly one spelling: text that Node's decoder would skip,
 * such as padding, junk or spare bits, makes it invalid. So does a `crit` header, because it demands extensions that we
 * do not have.
 */
export function parseJwt(token: string, maxChars = maxTokenChars): ParsedJwt | undefined {
  if (token.length > maxChars) return undefined;
  const [head, body, end, more] = token.split(".", 4);
  if (head === undefined || body === undefined || end === undefined || more !== undefined) return undefined;
  const header = jsonIn(head);
  const claims = jsonIn(body);
  const signature = bytesIn(end);
  if (!header || !claims || !signature || Object.hasOwn(header, "crit")) return undefined;
  return { header, claims, signed: `${head}.${body}`, signature };
}

/** The key determines the algorithm, never the token. */
export function isSignedBy(key: VerifyingKey, jwt: ParsedJwt): boolean {
  if (jwt.header.alg !== key.algorithm) return false;
  const input = { key: key.publicKey, dsaEncoding: "ieee-p1363" } as const;
  return verify(hashes[key.algorithm], Buffer.from(jwt.signed), input, jwt.signature);
}

/** The keys as a JSON Web Key Set, for verification elsewhere. */
export function jsonWebKeys(keys: readonly VerifyingKey[]): { keys: JwtPart[] } {
  return {
    keys: keys.map(({ id, algorithm, publicKey }) => ({
      use: "sig",
      kid: id,
      alg: algorithm,
      ...publicKey.export({ format: "jwk" }),
    })),
  };
}

const hashes: Readonly<Record<JwtAlgorithm, string>> = {
  ES256: "sha256",
  ES384: "sha384",
  ES512: "sha512",
  RS256: "sha256",
};

const curves: Readonly<Record<string, JwtAlgorithm>> = { prime256v1: "ES256", secp384r1: "ES384", secp521r1: "ES512" };

function algorithmOf(key: KeyObject): JwtAlgorithm {
  if (key.asymmetricKeyType === "rsa") return "RS256";
  const curve = key.asymmetricKeyDetails?.namedCurve ?? "";
  const algorithm = curves[curve];
  if (!algorithm) {
    throw new TypeError(
      `tokens can be signed with RSA or ECDSA P-256, P-384 and P-521 keys, not ${curve || key.asymmetricKeyType}`,
    );
  }
  return algorithm;
}

const encoded = (part: JwtPart): string => Buffer.from(JSON.stringify(part)).toString("base64url");

/** Decodes base64url strictly: undefined unless the text is exactly how these bytes are encoded. */
function bytesIn(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

function jsonIn(text: string): JwtPart | undefined {
  const bytes = bytesIn(text);
  if (!bytes) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JwtPart) : undefined;
  } catch {
    // Not JSON, so not a token: it may still be another kind of credential.
    return undefined;
  }
}
