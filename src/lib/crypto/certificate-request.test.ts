import assert from "node:assert/strict";
import { constants, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { test } from "node:test";
import { certificatesFault, requestFault } from "./certificate-request.ts";
import { der } from "./der.ts";
import { createAuthority, pemOf } from "./x509.ts";

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const p256 = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const ed25519 = generateKeyPairSync("ed25519");

const algorithm = (id: string, ...parameters: Buffer[]) => der.sequence(der.objectId(id), ...parameters);
const empty = Buffer.from([5, 0]);
const rsaSha256 = algorithm("1.2.840.113549.1.1.11", empty);
const ecdsaSha256 = algorithm("1.2.840.10045.4.3.2");
const sha256 = algorithm("2.16.840.1.101.3.4.2.1", empty);
const pssSha256 = algorithm(
  "1.2.840.113549.1.1.10",
  der.sequence(
    der.explicit(0, sha256),
    der.explicit(1, algorithm("1.2.840.113549.1.1.8", sha256)),
    der.explicit(2, der.integer(Buffer.from([32]))),
  ),
);

interface Made {
  readonly key: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
  readonly by: Buffer;
  readonly hash?: string;
  readonly padding?: object;
  /** Replaces the public key. */
  readonly spki?: Buffer;
}

/** A request whose signature is sound, whatever it says about itself. */
function made({ key, by, hash = "sha256", padding = {}, spki }: Made): Buffer {
  const publicKey = spki ?? key.publicKey.export({ type: "spki", format: "der" });
  const info = der.sequence(der.integer(Buffer.from([0])), der.sequence(), publicKey, der.explicit(0));
  const isEdwards = key.privateKey.asymmetricKeyType === "ed25519";
  const signature = sign(isEdwards ? null : hash, info, { key: key.privateKey, ...padding });
  return der.sequence(info, by, der.bitString(signature));
}
const asPem = (bytes: Buffer, label = "CERTIFICATE REQUEST") => pemOf(label, bytes);
const faultOf = (request: Made) => requestFault(asPem(made(request)));

const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
const sound: Readonly<Record<string, Made>> = {
  "RSA with SHA-1": { key: rsa, by: algorithm("1.2.840.113549.1.1.5", empty), hash: "sha1" },
  "RSA with SHA-256": { key: rsa, by: rsaSha256 },
  "RSA-PSS": { key: rsa, by: pssSha256, padding: pss },
  "ECDSA with SHA-384": { key: p256, by: algorithm("1.2.840.10045.4.3.3"), hash: "sha384" },
  Ed25519: { key: ed25519, by: algorithm("1.3.101.112") },
};
for (const [name, request] of Object.entries(sound)) {
  test(`requestFault() accepts a request that is signed by ${name}`, () => assert.equal(faultOf(request), undefined));
}

/** A curve of the attacker's own, where a name is expected. */
const ownCurve = der.sequence(
  algorithm("1.2.840.10045.2.1", der.sequence(der.integer(Buffer.from([1])))),
  der.bitString(Buffer.alloc(65)),
);
const unimplemented = "x509: cannot verify signature: algorithm unimplemented";
const unsound: Readonly<Record<string, readonly [Made, string]>> = {
  "an RSA signature of another hash": [{ key: rsa, by: rsaSha256, hash: "sha512" }, "crypto/rsa: verification error"],
  "an ECDSA signature of another hash": [
    { key: p256, by: ecdsaSha256, hash: "sha512" },
    "x509: ECDSA verification failure",
  ],
  "the algorithm of another key": [
    { key: p256, by: rsaSha256 },
    "x509: signature algorithm specifies an RSA public key, but have public key of type *ecdsa.PublicKey",
  ],
  MD5: [
    { key: rsa, by: algorithm("1.2.840.113549.1.1.4", empty) },
    "x509: cannot verify signature: insecure algorithm MD5-RSA",
  ],
  "an unknown algorithm": [{ key: rsa, by: algorithm("1.2.3.4") }, unimplemented],
  "PSS without parameters": [{ key: rsa, by: algorithm("1.2.840.113549.1.1.10"), padding: pss }, unimplemented],
  "a curve that has no name": [{ key: p256, by: ecdsaSha256, spki: ownCurve }, unimplemented],
  "the key of somebody else": [
    {
      key: p256,
      by: ecdsaSha256,
      spki: generateKeyPairSync("ec", { namedCurve: "prime256v1" }).publicKey.export({ type: "spki", format: "der" }),
    },
    "x509: ECDSA verification failure",
  ],
};
for (const [name, [request, fault]] of Object.entries(unsound)) {
  test(`requestFault() refuses a request with ${name}`, () => assert.equal(faultOf(request), fault));
}

test("requestFault() refuses what is not a request", () => {
  const request = made({ key: p256, by: ecdsaSha256 });
  const wrongType = "PEM block type must be CERTIFICATE REQUEST";

  assert.equal(requestFault(""), wrongType);
  assert.equal(requestFault(asPem(request, "CERTIFICATE")), wrongType);
  assert.equal(requestFault(asPem(Buffer.alloc(0))), "asn1: syntax error: sequence truncated");
  assert.equal(requestFault(asPem(request.subarray(0, -1))), "asn1: syntax error: data truncated");
  assert.equal(requestFault(asPem(Buffer.concat([request, empty]))), "asn1: syntax error: trailing data");
  assert.equal(requestFault(asPem(der.sequence(empty))), "asn1: structure error: tags don't match");
});

test("requestFault() reports cut and changed requests, and never throws", () => {
  const request = made({ key: p256, by: ecdsaSha256 });

  for (let at = 0; at < request.length; at++) {
    const changed = Buffer.from(request);
    changed[at] = (changed[at] ?? 0) ^ 0x55;
    assert.equal(typeof requestFault(asPem(changed)), "string", `byte ${at}`);
    assert.equal(typeof requestFault(asPem(request.subarray(0, at))), "string", `${at} bytes`);
  }
});

test("certificatesFault() accepts a chain of certificates and nothing else", () => {
  const validity = { notBeforeMs: Date.UTC(2026, 0, 1), notAfterMs: Date.UTC(2027, 0, 1) };
  const { certificate, key } = createAuthority({ subject: { commonName: "a" }, ...validity });
  const bytes = Buffer.from(certificate.replaceAll(/-----.*-----/g, ""), "base64");
  const headers = certificate.replace("-----\n", "-----\nA: b\n\n");

  assert.equal(certificatesFault(certificate + certificate), undefined);
  assert.equal(certificatesFault(pemOf("CERTIFICATE", Buffer.concat([bytes, bytes]))), undefined);
  assert.equal(certificatesFault("none"), "must contain at least one CERTIFICATE PEM block");
  assert.equal(certificatesFault(certificate + key), 'only CERTIFICATE PEM blocks are allowed, found "PRIVATE KEY"');
  assert.equal(certificatesFault(headers), "no PEM block headers are permitted");
  assert.equal(
    certificatesFault(pemOf("CERTIFICATE", Buffer.alloc(0))),
    "found CERTIFICATE PEM block containing 0 certificates",
  );
  assert.equal(certificatesFault(pemOf("CERTIFICATE", bytes.subarray(0, -1))), "x509: malformed certificate");
  assert.equal(certificatesFault(pemOf("CERTIFICATE", Buffer.alloc(20_000))), "x509: malformed certificate");
});
