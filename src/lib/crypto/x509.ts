import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import { versionOfIP } from "#lib/net/ip.ts";
import { type DerValue, der, readDer, readObjectId } from "./der.ts";
import { maxPemBytes, readPem } from "./pem.ts";

/** A certificate with its private key, both as PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface Subject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

export interface CertificateRequest {
  readonly subject: Subject;
  readonly use: "server" | "client" | "both";
  /** DNS names and IP addresses, mixed. */
  readonly hosts?: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** A new ECDSA P-256 key. */
export function createKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey;
}

export const keyToPem = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString();

/**
 * A self-signed certificate authority. With the key of an older one, certificates that the older one signed stay valid.
 */
export function createAuthority(request: Omit<CertificateRequest, "use" | "hosts">, key = createKey()): KeyPair {
  const name = nameOf(request.subject);
  const publicKey = publicKeyOf(key);
  const certificate = signCertificate({
    ...request,
    issuerName: name,
    issuerKey: key,
    name,
    publicKey,
    extensions: [
      extension(oid.basicConstraints, der.sequence(der.boolean(true)), "critical"),
      // digitalSignature, keyEncipherment, keyCertSign.
      extension(oid.keyUsage, der.bitString(Buffer.from([0b10100100]), 2), "critical"),
      extension(oid.subjectKeyId, der.octetString(keyId(publicKey))),
    ],
  });
  const authority = { certificate, key: keyToPem(key) };
  parsedKeys.set(authority, key);
  return authority;
}

/** A new key and a certificate for it, signed by the authority. */
export function createCertificate(authority: KeyPair, request: CertificateRequest): KeyPair {
  const key = createKey();
  const { subject, use, hosts = [], ...validity } = request;
  const extended = [...(use === "client" ? [] : [oid.serverAuth]), ...(use === "server" ? [] : [oid.clientAuth])];
  const certificate = certifyPublicKey(authority, publicKeyOf(key), {
    ...validity,
    name: nameOf(subject),
    // digitalSignature, keyEncipherment.
    usages: { bits: [0, 2], extended },
    altNames: hosts.map(altName),
  });
  return { certificate, key: keyToPem(key) };
}

/** What a certificate says, besides the key that it is for. */
export interface CertificateTerms {
  /** An X.501 Name in DER. */
  readonly name: Uint8Array;
  readonly usages: KeyUsages;
  /** GeneralNames in DER. */
  readonly altNames: readonly Uint8Array[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** What a key may be used for. */
export interface KeyUsages {
  /** Bits of KeyUsage in RFC 5280, by number. */
  readonly bits: readonly number[];
  /** Object ids of ExtendedKeyUsage. */
  readonly extended: readonly string[];
}

/** A certificate for somebody else's key, given as SubjectPublicKeyInfo. */
export function certifyPublicKey(authority: KeyPair, publicKey: Uint8Array, terms: CertificateTerms): string {
  const issuerKey = keyOf(authority);
  const { usages, altNames, ...rest } = terms;
  const extensions = [];
  if (usages.bits.length > 0) extensions.push(extension(oid.keyUsage, bitsOf(usages.bits), "critical"));
  if (usages.extended.length > 0) {
    extensions.push(extension(oid.extendedKeyUsage, der.sequence(...usages.extended.map(der.objectId))));
  }
  extensions.push(
    extension(oid.basicConstraints, der.sequence(), "critical"),
    extension(oid.authorityKeyId, der.sequence(der.context(0, keyId(publicKeyOf(issuerKey))))),
  );
  if (altNames.length > 0) {
    // Whoever verifies a certificate without a subject must look at the other names.
    const critical = readDer(terms.name)[0]?.content.length === 0 ? "critical" : undefined;
    extensions.push(extension(oid.subjectAltName, der.sequence(...altNames), critical));
  }
  const issuerName = tbsFields(bytesOfPem(authority.certificate))[5]?.whole ?? der.sequence();
  return signCertificate({ ...rest, issuerName, issuerKey, publicKey, extensions });
}

/** A bit string without the zeros at its end, as DER demands. */
function bitsOf(bits: readonly number[]): Buffer {
  const last = Math.max(...bits);
  const bytes = Buffer.alloc((last >> 3) + 1);
  for (const bit of bits) bytes.writeUInt8(bytes.readUInt8(bit >> 3) | (0x80 >> (bit & 7)), bit >> 3);
  return der.bitString(bytes, 7 - (last & 7));
}

/**
 * The common name and the organizations of a certificate, read from its DER because text forms cannot be split safely.
 */
export function readSubject(certificate: X509Certificate | Uint8Array): Subject & { organizations: readonly string[] } {
  const raw = certificate instanceof X509Certificate ? certificate.raw : certificate;
  return readName(subjectOf(raw));
}

function readName(name: Uint8Array): Subject & { organizations: readonly string[] } {
  let commonName = "";
  const organizations: string[] = [];
  for (const { id, text } of readNameAttributes(name)) {
    if (id === oid.commonName) commonName = text;
    if (id === oid.organization) organizations.push(text);
  }
  return { commonName, organizations };
}

/** The attributes of an X.501 Name, as in a certificate or a signing request, in their order. */
export function readNameAttributes(name: Uint8Array): NameAttribute[] {
  const attributes: NameAttribute[] = [];
  for (const relative of readDer(name)) {
    for (const attribute of readDer(relative.content)) {
      const [type, value] = readDer(attribute.content);
      if (type && value) attributes.push({ id: readObjectId(type.content), text: textOf(value) });
    }
  }
  return attributes;
}

/** Go reads a BMPString too, which has two bytes for each character. Others have the same bytes as UTF-8, for ASCII. */
const textOf = ({ tag, content }: DerValue): string =>
  tag === 0x1e && content.length % 2 === 0
    ? Buffer.from(content).swap16().toString("utf16le")
    : content.toString("utf8");

/** Who a certificate signing request (PKCS #10, PEM) is for. Throws if it is not one. */
export function readRequestSubject(pem: string): Subject & { organizations: readonly string[] } {
  if (pem.length > maxPemBytes) throw new RangeError("the certificate signing request is too long");
  const [block] = readPem(pem);
  const request = readDer(block?.bytes ?? Buffer.alloc(0))[0];
  const info = request && readDer(request.content)[0];
  const [, subject] = info ? readDer(info.content) : [];
  if (block?.label !== "CERTIFICATE REQUEST" || !subject) throw new RangeError("not a certificate signing request");
  return readName(subject.content);
}

export const notAfterMs = (certificate: X509Certificate): number => certificate.validToDate.getTime();
export const notBeforeMs = (certificate: X509Certificate): number => certificate.validFromDate.getTime();

/** The certificates of a PEM text. What is no certificate is skipped. */
export function certificatesIn(text: string): X509Certificate[] {
  return readPem(text).flatMap(({ label, bytes }) => {
    if (label !== "CERTIFICATE") return [];
    try {
      return [new X509Certificate(bytes)];
    } catch {
      return [];
    }
  });
}

export const pemOf = (label: string, bytes: Uint8Array): string => {
  const lines =
    Buffer.from(bytes)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
};

const bytesOfPem = (pem: string): Buffer => Buffer.from(pem.replace(/-----[^-]+-----/g, ""), "base64");

const oid = {
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyId: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  rsaWithSha256: "1.2.840.113549.1.1.11",
};

/** Parsing a key takes as long as signing with it, so the result is kept. */
const parsedKeys = new WeakMap<KeyPair, KeyObject>();
function keyOf(pair: KeyPair): KeyObject {
  let key = parsedKeys.get(pair);
  if (!key) {
    key = createPrivateKey(pair.key);
    parsedKeys.set(pair, key);
  }
  return key;
}

interface Unsigned {
  readonly issuerName: Uint8Array;
  readonly issuerKey: KeyObject;
  readonly name: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly extensions: readonly Uint8Array[];
}

function signCertificate(unsigned: Unsigned): string {
  const { issuerKey } = unsigned;
  const isRsa = issuerKey.asymmetricKeyType === "rsa";
  const algorithm = isRsa
    ? der.sequence(der.objectId(oid.rsaWithSha256), Buffer.from([5, 0]))
    : der.sequence(der.objectId(oid.ecdsaWithSha256));
  const serial = randomBytes(16);
  serial.writeUInt8((serial.readUInt8(0) & 0x3f) | 0x40, 0); // Positive and of full length.
  const body = der.sequence(
    der.explicit(0, der.integer(Buffer.from([2]))),
    der.integer(serial),
    algorithm,
    unsigned.issuerName,
    der.sequence(der.time(unsigned.notBeforeMs), der.time(unsigned.notAfterMs)),
    unsigned.name,
    unsigned.publicKey,
    der.explicit(3, der.sequence(...unsigned.extensions)),
  );
  const signature = sign("sha256", body, issuerKey);
  return pemOf("CERTIFICATE", der.sequence(body, algorithm, der.bitString(signature)));
}

function extension(id: string, value: Uint8Array, critical?: "critical"): Buffer {
  const flag = critical ? [der.boolean(true)] : [];
  return der.sequence(der.objectId(id), ...flag, der.octetString(value));
}

/** Organizations first, as upstream's tools write them. */
export const nameOf = ({ commonName, organizations = [] }: Subject): Buffer =>
  writeName([
    ...organizations.map((text) => ({ id: oid.organization, text })),
    { id: oid.commonName, text: commonName },
  ]);

/** One attribute of an X.501 Name. */
export interface NameAttribute {
  readonly id: string;
  readonly text: string;
}

/** An X.501 Name in DER. */
export const writeName = (attributes: readonly NameAttribute[]): Buffer =>
  der.sequence(...attributes.map(({ id, text }) => der.set(der.sequence(der.objectId(id), der.utf8(text)))));

/** A GeneralName in DER: of an address, or else of a DNS name. */
export function altName(host: string): Buffer {
  return versionOfIP(host) ? der.context(7, addressBytes(host)) : der.context(2, Buffer.from(host, "ascii"));
}

/** SubjectPublicKeyInfo of a private key. */
export const publicKeyOf = (key: KeyObject): Buffer => createPublicKey(key).export({ type: "spki", format: "der" });

/** Returns 4 or 16 bytes. The text must be an address. */
function addressBytes(address: string): Buffer {
  if (versionOfIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const hex = (high = "0", low = "0") => ((Number(high) << 8) | Number(low)).toString(16);
  const text = dotted ? `${dotted[1]}${hex(dotted[2], dotted[3])}:${hex(dotted[4], dotted[5])}` : address;
  const [head = "", tail] = text.split("::");
  const left = head.split(":").filter(Boolean);
  const right = (tail ?? "").split(":").filter(Boolean);
  const zeros = new Array<string>(8 - left.length - right.length).fill("0");
  return Buffer.from(
    [...left, ...zeros, ...right].flatMap((group) => [
      Number.parseInt(group, 16) >> 8,
      Number.parseInt(group, 16) & 0xff,
    ]),
  );
}

/** SHA-1 of the key bits, as RFC 5280 proposes. It identifies the key and protects nothing. */
function keyId(publicKey: Uint8Array): Buffer {
  const bits = readDer(readDer(publicKey)[0]?.content ?? Buffer.alloc(0))[1];
  return createHash("sha1")
    .update(bits?.content.subarray(1) ?? publicKey)
    .digest();
}

/**
 *     Certificate ── TBSCertificate ── [0] version, serial, algorithm, issuer, validity, subject, …
 */
function subjectOf(certificate: Uint8Array): Buffer {
  return tbsFields(certificate)[5]?.content ?? Buffer.alloc(0);
}
function tbsFields(certificate: Uint8Array) {
  const outer = readDer(certificate)[0];
  const tbs = outer && readDer(outer.content)[0];
  return tbs ? readDer(tbs.content) : [];
}
