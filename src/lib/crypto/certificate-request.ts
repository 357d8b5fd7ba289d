import { constants, createPublicKey, type KeyObject, verify, X509Certificate } from "node:crypto";
import { type AlternativeNames, MalformedError, readAlternativeNames } from "./alternative-names.ts";
import { type DerValue, der, readDer, readObjectId } from "./der.ts";
import { maxPemBytes, readPem } from "./pem.ts";
import { type NameAttribute, readNameAttributes } from "./x509.ts";

/**
 * What is wrong with a certificate signing request (PKCS #10, PEM), in Go's words; undefined if it is sound and the key that
 * it is for has signed it. The caller limits the length of the text.
 */
export function requestFault(pem: string): string | undefined {
  const [block] = readPem(pem);
  if (block?.label !== "CERTIFICATE REQUEST") return "PEM block type must be CERTIFICATE REQUEST";
  try {
    return signatureFault(parseRequest(block.bytes));
  } catch (error) {
    if (error instanceof MalformedError) return error.message;
    if (error instanceof RangeError) return "asn1: syntax error: data truncated";
    throw error;
  }
}

/** What a sound request asks for. */
export interface RequestedCertificate {
  /** The attributes of the subject, in their order. */
  readonly subject: readonly NameAttribute[];
  readonly names: AlternativeNames;
  /** SubjectPublicKeyInfo. */
  readonly publicKey: Buffer;
}

/** What a request asks for. Throws if it is not sound: whoever stored it has found it so. */
export function readRequest(pem: string): RequestedCertificate {
  const fault = pem.length > maxPemBytes ? "it is too long" : requestFault(pem);
  const [block] = readPem(fault ? "" : pem);
  if (!block) throw new RangeError(`not a certificate signing request: ${fault}`);
  const { subject, names, publicKey } = parseRequest(block.bytes);
  return { subject: readNameAttributes(subject), names, publicKey };
}

/** What is wrong with a chain of certificates (PEM), in upstream's words. The caller limits the length of the text. */
export function certificatesFault(pem: string): string | undefined {
  const blocks = readPem(pem);
  for (const { label, hasHeaders, bytes } of blocks) {
    if (label !== "CERTIFICATE") return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(label)}`;
    if (hasHeaders) return "no PEM block headers are permitted";
    if (bytes.length === 0) return "found CERTIFICATE PEM block containing 0 certificates";
    if (!areCertificates(bytes)) return "x509: malformed certificate";
  }
  return blocks.length === 0 ? "must contain at least one CERTIFICATE PEM block" : undefined;
}

function areCertificates(bytes: Buffer): boolean {
  try {
    return readDer(bytes, maxParts).every(({ whole }) => new X509Certificate(whole).raw.equals(whole));
  } catch {
    return false;
  }
}

/** What is read here has only a few values; a hostile text could have tens of thousands. */
const maxParts = 16;
const partsOf = (value: DerValue | undefined): DerValue[] => (value ? readDer(value.content, maxParts) : []);

/**
 *     CertificationRequest ─┬─ info ── version, subject, public key, [0] attributes
 *                           ├─ algorithm ── object id, parameters
 *                           └─ signature
 */
interface Request {
  /** The bytes that are signed. */
  readonly info: Buffer;
  /** The content of an X.501 Name. */
  readonly subject: Buffer;
  readonly names: AlternativeNames;
  /** SubjectPublicKeyInfo. */
  readonly publicKey: Buffer;
  readonly algorithm: readonly DerValue[];
  readonly signature: Buffer;
}

const tag = { integer: 0x02, bits: 0x03, objectId: 0x06, sequence: 0x30, attributes: 0xa0 };

function parseRequest(bytes: Buffer): Request {
  const [outer, ...rest] = readDer(bytes, maxParts);
  if (rest.length > 0) throw new MalformedError("asn1: syntax error: trailing data");
  const [info, algorithm, signature] = inside(outer, [tag.sequence, tag.sequence, tag.bits]);
  const [, subject, publicKey, attributes] = inside(info, [tag.integer, tag.sequence, tag.sequence, tag.attributes]);
  if (!info || !subject || !publicKey || !attributes || signature?.content[0] !== 0) throw new MalformedError(mismatch);
  return {
    info: info.whole,
    subject: subject.content,
    names: readAlternativeNames(attributes),
    publicKey: publicKey.whole,
    algorithm: partsOf(algorithm),
    signature: signature.content.subarray(1),
  };
}
const mismatch = "asn1: structure error: tags don't match";

/** The values in a sequence, which must have these tags. */
function inside(sequence: DerValue | undefined, tags: readonly number[]): readonly DerValue[] {
  if (!sequence) throw new MalformedError("asn1: syntax error: sequence truncated");
  const values = sequence.tag === tag.sequence ? partsOf(sequence) : [];
  if (values.length !== tags.length || values.some((value, index) => value.tag !== tags[index])) {
    throw new MalformedError(mismatch);
  }
  return values;
}

const keys = {
  rsa: { name: "RSA", go: "*rsa.PublicKey", fault: "crypto/rsa: verification error" },
  ec: { name: "ECDSA", go: "*ecdsa.PublicKey", fault: "x509: ECDSA verification failure" },
  ed25519: { name: "Ed25519", go: "ed25519.PublicKey", fault: "x509: Ed25519 verification failure" },
} as const;
type KeyType = keyof typeof keys;

interface Scheme {
  readonly key: KeyType;
  readonly hash?: string;
  /** Length of the salt; the padding is PSS. */
  readonly saltBytes?: number;
}

/** By the object id in the request. Other schemes are refused before anything is computed. */
const schemes: ReadonlyMap<string, Scheme> = new Map<string, Scheme>([
  ["1.2.840.113549.1.1.5", { key: "rsa", hash: "sha1" }],
  ["1.2.840.113549.1.1.11", { key: "rsa", hash: "sha256" }],
  ["1.2.840.113549.1.1.12", { key: "rsa", hash: "sha384" }],
  ["1.2.840.113549.1.1.13", { key: "rsa", hash: "sha512" }],
  ["1.2.840.10045.4.1", { key: "ec", hash: "sha1" }],
  ["1.2.840.10045.4.3.2", { key: "ec", hash: "sha256" }],
  ["1.2.840.10045.4.3.3", { key: "ec", hash: "sha384" }],
  ["1.2.840.10045.4.3.4", { key: "ec", hash: "sha512" }],
  ["1.3.101.112", { key: "ed25519" }],
]);
const rsaPss = "1.2.840.113549.1.1.10";
const md5WithRsa = "1.2.840.113549.1.1.4";

const unimplemented = "x509: cannot verify signature: algorithm unimplemented";

function signatureFault({ info, publicKey, algorithm, signature }: Request): string | undefined {
  const [id, parameters] = algorithm;
  const name = id?.tag === tag.objectId ? readObjectId(id.content) : "";
  if (name === md5WithRsa) return "x509: cannot verify signature: insecure algorithm MD5-RSA";
  const scheme = name === rsaPss ? pssScheme(parameters) : schemes.get(name);
  const type = keyTypeOf(publicKey);
  if (!scheme || !type) return unimplemented;
  if (scheme.key !== type) {
    const wanted = keys[scheme.key].name;
    return `x509: signature algorithm specifies an ${wanted} public key, but have public key of type ${keys[type].go}`;
  }
  return isSigned(scheme, publicKey, { info, signature }) ? undefined : keys[type].fault;
}

function isSigned(
  { hash, saltBytes }: Scheme,
  publicKey: Buffer,
  { info, signature }: Pick<Request, "info" | "signature">,
): boolean {
  try {
    const key: KeyObject = createPublicKey({ key: publicKey, format: "der", type: "spki" });
    const pss = saltBytes === undefined ? {} : { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: saltBytes };
    return verify(hash, info, { key, ...pss }, signature);
  } catch {
    // OpenSSL refuses keys that make no sense, and those that would take it long.
    return false;
  }
}

const keyTypes: ReadonlyMap<string, KeyType> = new Map<string, KeyType>([
  ["1.2.840.113549.1.1.1", "rsa"],
  ["1.2.840.10045.2.1", "ec"],
  ["1.3.101.112", "ed25519"],
]);
/** P-224, P-256, P-384 and P-521. A key could also bring a curve of its own. */
const curves: ReadonlySet<string> = new Set(["1.3.132.0.33", "1.2.840.10045.3.1.7", "1.3.132.0.34", "1.3.132.0.35"]);

/** Undefined for keys that Go does not read. */
function keyTypeOf(publicKey: Buffer): KeyType | undefined {
  const [algorithm] = partsOf(readDer(publicKey, maxParts)[0]);
  const [id, parameters] = partsOf(algorithm);
  const type = id?.tag === tag.objectId ? keyTypes.get(readObjectId(id.content)) : undefined;
  if (type !== "ec") return type;
  return parameters?.tag === tag.objectId && curves.has(readObjectId(parameters.content)) ? type : undefined;
}

/** The parameters that Go knows: the same hash everywhere, and a salt of its length. */
function pssScheme(parameters: DerValue | undefined): Scheme | undefined {
  const found = pssHashes.find(({ saltBytes, id }) => parameters?.whole.equals(pssParameters(id, saltBytes)));
  return found && { key: "rsa", hash: found.hash, saltBytes: found.saltBytes };
}
const pssHashes = [
  { hash: "sha256", id: "2.16.840.1.101.3.4.2.1", saltBytes: 32 },
  { hash: "sha384", id: "2.16.840.1.101.3.4.2.2", saltBytes: 48 },
  { hash: "sha512", id: "2.16.840.1.101.3.4.2.3", saltBytes: 64 },
];

function pssParameters(hashId: string, saltBytes: number): Buffer {
  const hash = der.sequence(der.objectId(hashId), Buffer.from([5, 0]));
  const mask = der.sequence(der.objectId("1.2.840.113549.1.1.8"), hash);
  const salt = der.integer(Buffer.from([saltBytes]));
  return der.sequence(der.explicit(0, hash), der.explicit(1, mask), der.explicit(2, salt));
}
