import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { Node } from "#api/core/node.ts";
import { requestFault } from "#lib/crypto/certificate-request.ts";
import { createAuthority, readSubject } from "#lib/crypto/x509.ts";
import { build } from "#testing/build.ts";
import { type AskedFor, signingRequest } from "#testing/peers/signing-request.ts";
import { planApproval, planRefusal } from "./approving.ts";
import { deleteAtMs } from "./cleaner.ts";
import { issueCertificate, planValidity } from "./issue-certificate.ts";
import { planSigning } from "./signing.ts";

const now = Date.parse("2026-03-01T12:00:00Z");
const hour = 3_600_000;
const client = "kubernetes.io/kube-apiserver-client";
const kubelet = "kubernetes.io/kube-apiserver-client-kubelet";
const serving = "kubernetes.io/kubelet-serving";
const approved = { type: "Approved", status: "True", lastUpdateTime: "2026-03-01T12:00:00Z" };

interface Case extends AskedFor {
  readonly signerName?: string;
  readonly usages?: string[];
  readonly username?: string;
  readonly conditions?: { type: string; status: string; lastUpdateTime?: string }[];
  readonly certificate?: string;
}

function requestOf({ signerName = kubelet, usages = kubeletUsages, username = "", ...rest }: Case) {
  const { conditions = [approved], certificate, ...asked } = rest;
  const request = Buffer.from(signingRequest(asked).pem).toString("base64");
  return build(CertificateSigningRequest, {
    metadata: { name: "r", creationTimestamp: "2026-03-01T12:00:00Z" },
    spec: { request, signerName, usages, username },
    status: { conditions, ...(certificate ? { certificate } : {}) },
  });
}

const node: AskedFor = { commonName: "system:node:a", organizations: ["system:nodes"] };
const kubeletUsages = ["digital signature", "client auth"];
const servingUsages = ["digital signature", "key encipherment", "server auth"];
const dns = [2, "a.example"] as const;
const notMatched = (auth: string) => `usages did not match [${auth} digital signature key encipherment]`;

const signings: readonly [string, Case, string | undefined][] = [
  ["a client", { signerName: client, usages: ["client auth"] }, undefined],
  [
    "a client that wants to serve",
    { signerName: client, usages: ["client auth", "server auth"] },
    "invalid usage for client certificate: server auth",
  ],
  [
    "a client without its usage",
    { signerName: client, usages: ["digital signature"] },
    "missing required usage for client certificate: client auth",
  ],
  ["a kubelet", node, undefined],
  ["a kubelet with an RSA key", { ...node, usages: [...kubeletUsages, "key encipherment"] }, undefined],
  ["nobody of system:nodes", { commonName: "system:node:a" }, "subject organization is not system:nodes"],
  [
    "a kubelet of two groups",
    { ...node, organizations: ["system:nodes", "system:masters"] },
    "subject organization is not system:nodes",
  ],
  ["a kubelet with a DNS name", { ...node, names: [dns] }, "DNS subjectAltNames are not allowed"],
  ["a kubelet with an email", { ...node, names: [[1, "a@b"]] }, "Email subjectAltNames are not allowed"],
  ["a kubelet with an address", { ...node, names: [[7, Buffer.alloc(4)]] }, "IP subjectAltNames are not allowed"],
  ["a kubelet with a URI", { ...node, names: [[6, "urn:a"]] }, "URI subjectAltNames are not allowed"],
  ["another user", { ...node, commonName: "jane" }, "subject common name does not begin with system:node:"],
  ["a kubelet with too few usages", { ...node, usages: ["client auth"] }, notMatched("client auth")],
  ["a kubelet with other usages", { ...node, usages: [...kubeletUsages, "any"] }, notMatched("client auth")],
  ["a kubelet's server", { ...node, signerName: serving, usages: servingUsages, names: [dns] }, undefined],
  [
    "a server without names",
    { ...node, signerName: serving, usages: servingUsages },
    "DNS or IP subjectAltName is required",
  ],
  [
    "a server with an email",
    { ...node, signerName: serving, usages: servingUsages, names: [dns, [1, "a@b"]] },
    "Email subjectAltNames are not allowed",
  ],
  [
    "a server that is a client",
    { ...node, signerName: serving, names: [dns] },
    notMatched("server auth").replace(
      "[server auth digital signature key encipherment]",
      "[digital signature key encipherment server auth]",
    ),
  ],
];
for (const [name, asked, message] of signings) {
  test(`planSigning() decides about ${name}`, () => {
    assert.deepEqual(planSigning(requestOf(asked)), message === undefined ? undefined : { message });
  });
}

test("planRefusal() keeps a token from taking the place of a node, which may renew its own certificate", () => {
  const refusal = (asked: Case) => planRefusal(requestOf({ conditions: [], ...asked }), places);
  const token = { username: "system:bootstrap:abcdef" };

  assert.match(refusal({ ...asNode("a"), ...token }) ?? "", /^there is a node a already/);
  assert.equal(refusal({ ...asNode("new"), ...token }), undefined);
  assert.equal(refusal({ ...asNode("a"), username: "system:node:a" }), undefined);
});

test("planSigning() leaves requests alone that are not approved, already answered, or for other signers", () => {
  const others: Case[] = [
    { ...node, conditions: [] },
    { ...node, conditions: [approved, { type: "Failed", status: "True" }] },
    { ...node, certificate: "eA==" },
    { ...node, signerName: "example.com/web" },
  ];
  for (const other of others) assert.equal(planSigning(requestOf(other)), "nothing to do");
});

const nodeAt = (name: string, address: string) => ({
  metadata: { name },
  status: { addresses: [{ type: "InternalIP", address }] },
});
const places = {
  nodes: [
    nodeAt("a", "10.0.0.1"),
    nodeAt("b", "10.0.0.2"),
    nodeAt("twin", "10.0.0.2"),
    nodeAt("api", "10.0.0.9"),
    nodeAt("mapped", "::ffff:10.0.0.9"),
  ].map((object) => build(Node, object)),
  serverAddresses: ["10.96.0.1", "10.0.0.9"],
};
const at = (...bytes: number[]) => [7, Uint8Array.from(bytes)] as const;
const asNode = (name: string) => ({ commonName: `system:node:${name}`, organizations: ["system:nodes"] });
const server = (name: string, ...names: (readonly [number, string | Uint8Array])[]): Case => ({
  ...asNode(name),
  ...{ signerName: serving, usages: servingUsages, username: `system:node:${name}`, names },
});
const services = { signerName: client, commonName: "system:orlop:node-services:a", username: "system:node:a" };
const ofServices = { organizations: ["system:orlop:node-services"] };

const approvals: readonly [string, Case, readonly string[]][] = [
  ["a kubelet that renews its own", { ...node, username: "system:node:a" }, ["selfnodeclient", "nodeclient"]],
  ["somebody who asks for a kubelet", { ...node, username: "system:bootstrap:abc" }, ["nodeclient"]],
  ["another signer", { ...node, signerName: client }, []],
  ["what the signer would refuse", { ...node, names: [dns] }, []],
  ["a node's server at its own address", server("a", at(10, 0, 0, 1)), ["selfnodeserver"]],
  ["a server with a name, which a machine chooses itself", server("a", at(10, 0, 0, 1), [2, "kubernetes"]), []],
  ["a server at an address that the node has not reported", server("a", at(10, 0, 0, 7)), []],
  ["a server at another node's address", server("a", at(10, 0, 0, 1), at(10, 0, 0, 2)), []],
  ["a server at an address that an older node reports", server("twin", at(10, 0, 0, 2)), []],
  ["a server at an address that a younger node reports too", server("b", at(10, 0, 0, 2)), ["selfnodeserver"]],
  ["a server at the API server's address", server("api", at(10, 0, 0, 9)), []],
  ["a server at it in the form of IPv6", server("mapped", at(...Array(10).fill(0), 255, 255, 10, 0, 0, 9)), []],
  ["a server of another node", { ...server("a", at(10, 0, 0, 1)), username: "system:node:b" }, []],
  ["the services of a node", { ...services, ...ofServices }, ["nodeservices"]],
  ["the services of another node", { ...services, ...ofServices, username: "system:node:b" }, []],
  ["services for somebody who is no node", { ...services, ...ofServices, username: "system:bootstrap:abc" }, []],
  ["services in another group", { ...services, organizations: ["system:masters"] }, []],
  ["services in two groups", { ...services, organizations: ["system:orlop:node-services", "x"] }, []],
  ["a denied request", { ...node, conditions: [{ type: "Denied", status: "True" }] }, []],
];
for (const [name, asked, ways] of approvals) {
  test(`planApproval() says which rights ${name} needs`, () => {
    const found = planApproval(requestOf({ conditions: [], ...asked }), places);

    assert.deepEqual(
      found.map(({ subresource }) => subresource),
      ways,
    );
  });
}

test("planValidity() follows the request within the limits of the signer and the authority", () => {
  const terms = { nowMs: now, durationMs: 24 * hour };
  const lifeOf = (seconds: number | undefined, authorityMs = 1000 * hour) =>
    (planValidity(seconds, now + authorityMs, terms).notAfterMs - now) / 60_000;

  assert.equal(planValidity(3600, now + hour, terms).notBeforeMs, now - 300_000);
  assert.equal(lifeOf(undefined), 24 * 60 - 5);
  assert.equal(lifeOf(3600), 60);
  assert.equal(lifeOf(8 * 3600), 8 * 60 - 5);
  assert.equal(lifeOf(1), 10);
  assert.equal(lifeOf(2 ** 31 - 1), 24 * 60 - 5);
  assert.equal(lifeOf(3600, hour / 2), 30);
  assert.throws(() => lifeOf(3600, 0), /expired/);
});

const authority = createAuthority({
  subject: { commonName: "kubernetes" },
  notBeforeMs: now - hour,
  notAfterMs: now + 10_000 * hour,
});

test("issueCertificate() takes names, key and usages from the request, and nothing else", () => {
  const organizations = ["a, b", "c=d"];
  const { pem, key } = signingRequest({
    commonName: "jane",
    organizations,
    attributes: [
      { id: "2.5.4.3", text: "root" },
      { id: "1.2.3.4", text: "unknown" },
      { id: "2.5.4.6", text: "DE" },
    ],
    names: [dns, [7, Buffer.from([10, 0, 0, 1])], [1, "a@b"], [6, "urn:a"]],
  });
  const spec = {
    request: Buffer.from(pem).toString("base64"),
    signerName: client,
    usages: ["client auth", "decipher only", "signing", "digital signature"],
  };

  const made = new X509Certificate(issueCertificate(authority, spec, { nowMs: now, durationMs: 24 * hour }));

  assert.deepEqual(readSubject(made), { commonName: "jane", organizations });
  assert.equal(made.subject.includes("C=DE"), true);
  assert.equal(made.subject.includes("unknown"), false);
  assert.equal(made.ca, false);
  assert.equal(made.checkPrivateKey(key), true);
  assert.equal(made.verify(new X509Certificate(authority.certificate).publicKey), true);
  assert.deepEqual(made.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
  assert.equal(made.subjectAltName, "DNS:a.example, email:a@b, IP Address:10.0.0.1, URI:urn:a");
});

const ends: readonly [string, Case, number][] = [
  ["nobody has answered", { conditions: [] }, 24 * hour],
  ["it was denied", { conditions: [{ ...approved, type: "Denied" }] }, hour],
  ["it has failed", { conditions: [approved, { ...approved, type: "Failed" }] }, hour],
  ["it has its certificate", { certificate: Buffer.from(authority.certificate).toString("base64") }, hour],
  ["its signer does not answer", {}, 24 * hour],
  ["its conditions have no times", { conditions: [{ type: "Denied", status: "True" }] }, Infinity],
  ["another controller has a condition", { conditions: [{ ...approved, type: "Seen" }] }, Infinity],
];
for (const [name, asked, afterMs] of ends) {
  test(`deleteAtMs() says when to delete a request if ${name}`, () => {
    assert.equal(deleteAtMs(requestOf(asked)), now + afterMs);
  });
}

test("deleteAtMs() does not keep a certificate that has ended", () => {
  const { certificate } = createAuthority({ subject: { commonName: "a" }, notBeforeMs: now, notAfterMs: now + 60_000 });

  assert.equal(deleteAtMs(requestOf({ certificate: Buffer.from(certificate).toString("base64") })), now + 60_000);
});

const broken: readonly [string, AskedFor["names"], string][] = [
  ["a DNS name beyond ASCII", [[2, "ä"]], "x509: SAN dNSName is malformed"],
  ["an address of three bytes", [[7, Buffer.alloc(3)]], "x509: cannot parse IP address of length 3"],
  ["more names than anybody needs", Array.from({ length: 1001 }, () => dns), "asn1: syntax error: data truncated"],
];
for (const [name, names, fault] of broken) {
  test(`requestFault() refuses ${name}`, () => {
    assert.equal(requestFault(signingRequest({ ...(names ? { names } : {}) }).pem), fault);
  });
}
