import assert from "node:assert/strict";
import { test } from "node:test";
import { createAuthority } from "#lib/crypto/x509.ts";
import { faultsOf, read, statusFaultsOf, updateFaultsOf } from "../faults.suite.ts";
import { prepareUpdate } from "../rules.ts";
import { CertificateSigningRequest } from "./certificate-signing-request.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const pem = `-----BEGIN CERTIFICATE REQUEST-----
MIHrMIGRAgEAMC8xFTATBgNVBAoMDHN5c3RlbTpub2RlczEWMBQGA1UEAwwNc3lz
dGVtOm5vZGU6YTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJnTUUXcyCtUPmKX
Ah1sOupmvErC6kg4+SXFTFUnM4qJGPOTiq4khKrB5n86Vys1hVoMdrNLEI/rpCHv
mrbxEXSgADAKBggqhkjOPQQDAgNJADBGAiEA7IixjLnQw0Xl99bUFMS75ujmvRzd
1kt2qZW4jgy4zgUCIQCis4EH2WvP+ohvkbAI5nzhGjbh+YRHeatt5ZUJybJL8A==
-----END CERTIFICATE REQUEST-----
`;
const validity = { notBeforeMs: Date.UTC(2026, 0, 1), notAfterMs: Date.UTC(2027, 0, 1) };
const certificateOf = (commonName: string) =>
  base64(createAuthority({ subject: { commonName }, ...validity }).certificate);

const metadata = { name: "node-a:1" };
const request = base64(pem);
const spec = { request, signerName: "kubernetes.io/kubelet-serving", usages: ["server auth"] };
const withSpec = (part: object) => ({ metadata, spec: { ...spec, ...part } });
const at = "2026-01-02T03:04:05Z";
const condition = (type: string, part: object = {}) => ({
  type,
  status: "True",
  lastUpdateTime: at,
  lastTransitionTime: at,
  ...part,
});
const withStatus = (status: object) => ({ metadata, spec, status });
const withConditions = (...conditions: object[]) => withStatus({ conditions });

const broken = base64(pem.replace("MIHr", "MIHq"));
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const cases: readonly { name: string; object: object; faults: readonly string[] }[] = [
  { name: "may say how long the certificate is valid", object: withSpec({ expirationSeconds: 600 }), faults: [] },
  {
    name: "needs a request, usages and a signer",
    object: { metadata, spec: {} },
    faults: [
      'spec.request: Invalid value: "": PEM block type must be CERTIFICATE REQUEST',
      "spec.usages: Required value",
      "spec.signerName: Required value",
    ],
  },
  {
    name: "has a request that can be parsed",
    object: withSpec({ request: broken }),
    faults: [`spec.request: Invalid value: "${broken}": asn1: syntax error: data truncated`],
  },
  {
    name: "has a request of a limited length",
    object: withSpec({ request: base64(pem + "\n".repeat(65_536)) }),
    faults: ["spec.request: Too long: may not be more than 65536 bytes"],
  },
  {
    name: "has known usages, each once",
    object: withSpec({ usages: ["client auth", "flying", "client auth"] }),
    faults: [
      'spec.usages[1]: Unsupported value: "flying": supported values: "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"',
      'spec.usages[2]: Duplicate value: "client auth"',
    ],
  },
  {
    name: "has a signer other than the legacy one",
    object: withSpec({ signerName: "kubernetes.io/legacy-unknown" }),
    faults: [
      'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
    ],
  },
  {
    name: "has a signer with a domain",
    object: withSpec({ signerName: "Example/a" }),
    faults: [
      `spec.signerName: Invalid value: "Example": validating label "Example": ${label}`,
      'spec.signerName: Invalid value: "Example": should be a domain with at least two segments separated by dots',
    ],
  },
  {
    name: "has a signer with a path",
    object: withSpec({ signerName: "example.com" }),
    faults: [
      "spec.signerName: Invalid value: \"example.com\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
    ],
  },
  {
    name: "has a signer whose name has no more parts than it may have characters",
    object: withSpec({ signerName: `example.com/${"a.".repeat(600)}!` }),
    faults: ["spec.signerName: Too long: may not be more than 571 bytes"],
  },
  {
    name: "asks for ten minutes or more",
    object: withSpec({ expirationSeconds: 599 }),
    faults: [
      "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
    ],
  },
  {
    name: "may have any name that fits into a path",
    object: { metadata: { name: "a/b" }, spec },
    faults: ["metadata.name: Invalid value: \"a/b\": may not contain '/'"],
  },
];
for (const { name, object, faults } of cases) {
  test(`a CertificateSigningRequest ${name}`, () => {
    assert.deepEqual(faultsOf(CertificateSigningRequest, object), faults);
  });
}

test("a new request is made in the name of its user, and nothing is decided about it", () => {
  const forged = { username: "root", uid: "0", groups: ["system:masters"], extra: { a: ["b"] } };
  const object = read(CertificateSigningRequest, {
    ...withSpec(forged),
    status: { conditions: [condition("Approved")] },
  });
  const user = { name: "jane", groups: ["dev"], extra: { scopes: ["x"] } };

  CertificateSigningRequest.prepareForCreate?.(object, { user, now: 0 });

  assert.deepEqual(object.spec, { ...spec, username: "jane", groups: ["dev"], extra: { scopes: ["x"] } });
  assert.deepEqual(object.status, {});
});

/** The object after an update, as the server would store it. */
function updated(input: object, before: object, subresource: string): CertificateSigningRequest {
  const object = read(CertificateSigningRequest, input);
  const writer = { user: { name: "jane", groups: [] }, now: Date.UTC(2026, 5, 1) };
  const old = read(CertificateSigningRequest, before);
  prepareUpdate(CertificateSigningRequest, { object, old, subresource, writer });
  return object;
}

test("an update of the object changes neither the spec nor the status", () => {
  const old = { ...withConditions(condition("Approved")), metadata: { name: "a" } };
  const { spec: kept, status } = updated({ metadata: { name: "a" }, spec: { request: "" }, status: {} }, old, "");

  assert.deepEqual(kept, spec);
  assert.deepEqual(status, { conditions: [condition("Approved")] });
});

test("an approval changes only the conditions, and fills in their times", () => {
  const now = "2026-06-01T00:00:00Z";
  const sent = withStatus({
    conditions: [
      { type: "Approved", status: "True", reason: "Ok" },
      { type: "Seen", status: "True" },
    ],
    certificate: certificateOf("other"),
  });

  const { spec: kept, status } = updated({ ...sent, spec: {} }, withConditions(condition("Seen")), "approval");

  assert.deepEqual(kept, spec);
  assert.deepEqual(status, {
    conditions: [
      { type: "Approved", status: "True", reason: "Ok", lastUpdateTime: now, lastTransitionTime: now },
      { type: "Seen", status: "True", lastUpdateTime: now, lastTransitionTime: at },
    ],
  });
});

test("a signer issues a certificate, and cannot change the decision", () => {
  const certificate = certificateOf("a");
  const sent = withStatus({ conditions: [condition("Approved", { reason: "Mine" })], certificate });

  const { status } = updated(sent, withConditions(condition("Approved", { reason: "Ok" })), "status");

  assert.deepEqual(status, { conditions: [condition("Approved", { reason: "Ok" })], certificate });
});

const decided = withConditions(condition("Approved"));
const changes: readonly { name: string; through: string; old: object; object: object; faults: readonly string[] }[] = [
  { name: "can be approved", through: "approval", old: withStatus({}), object: decided, faults: [] },
  {
    name: "cannot be approved and denied",
    through: "approval",
    old: decided,
    object: withConditions(condition("Approved"), condition("Denied")),
    faults: ['status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive'],
  },
  {
    name: "has conditions with a type and a status",
    through: "approval",
    old: withStatus({}),
    object: withConditions({}, condition("Denied", { status: "False" }), condition("Mine", { status: "Maybe" })),
    faults: [
      "status.conditions[0].type: Required value",
      "status.conditions[0].status: Required value",
      'status.conditions[1].status: Unsupported value: "False": supported values: "True"',
      'status.conditions[2].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
    ],
  },
  {
    name: "has each type of condition once",
    through: "approval",
    old: withStatus({}),
    object: withConditions(condition("Mine"), condition("Mine")),
    faults: ['status.conditions[1].type: Duplicate value: "Mine"'],
  },
  {
    name: "keeps every decision",
    through: "approval",
    old: withConditions(condition("Approved"), condition("Failed"), condition("Mine")),
    object: withStatus({}),
    faults: [
      'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
      'status.conditions: Forbidden: updates may not remove a condition of type "Failed"',
    ],
  },
  {
    name: "is neither approved nor denied by its signer",
    through: "status",
    old: withStatus({}),
    object: withConditions(condition("Denied"), condition("Failed")),
    faults: ['status.conditions: Forbidden: updates may not add a condition of type "Denied"'],
  },
  {
    name: "keeps its decision when its signer writes",
    through: "status",
    old: decided,
    object: withStatus({}),
    faults: ['status.conditions: Forbidden: updates may not remove a condition of type "Approved"'],
  },
  {
    name: "gets certificates and nothing else",
    through: "status",
    old: decided,
    object: { ...decided, status: { ...decided.status, certificate: request } },
    faults: [
      'status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"',
    ],
  },
  {
    name: "keeps its certificate",
    through: "status",
    old: withStatus({ certificate: certificateOf("a") }),
    object: withStatus({ certificate: certificateOf("b") }),
    faults: ["status.certificate: Forbidden: updates may not modify existing certificate content"],
  },
  {
    name: "loses no certificate",
    through: "status",
    old: withStatus({ certificate: certificateOf("a") }),
    object: withStatus({}),
    faults: ["status.certificate: Forbidden: updates may not modify existing certificate content"],
  },
  {
    name: "has sound labels after a write of its status",
    through: "status",
    old: withStatus({}),
    object: { ...withStatus({}), metadata: { ...metadata, labels: { a: "b", "": "c" } } },
    faults: [
      'metadata.labels: Invalid value: "": name part must be non-empty',
      "metadata.labels: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  },
];
for (const { name, through, old, object, faults } of changes) {
  test(`a CertificateSigningRequest ${name}`, () => {
    assert.deepEqual(updateFaultsOf(CertificateSigningRequest, object, old, through), faults);
  });
}

test("a certificate is checked only when it changes", () => {
  const old = withStatus({ certificate: request });

  assert.deepEqual(statusFaultsOf(CertificateSigningRequest, old, old), []);
});

test("a CertificateSigningRequest shows what became of it", () => {
  const cells = (object: object) => {
    const request = read(CertificateSigningRequest, object);
    return CertificateSigningRequest.columns.map(({ value }) => value(request, 0));
  };
  const last = (status: object) => cells(withStatus(status)).at(-1);

  assert.deepEqual(
    CertificateSigningRequest.columns.map(({ name }) => name),
    ["Age", "SignerName", "Requestor", "RequestedDuration", "Condition"],
  );
  assert.deepEqual(cells(withSpec({ username: "jane", expirationSeconds: 86_400 })), [
    "<unknown>",
    "kubernetes.io/kubelet-serving",
    "jane",
    "24h",
    "Pending",
  ]);
  assert.equal(cells(withStatus({}))[3], "<none>");
  assert.equal(last({ conditions: [condition("Approved"), condition("Failed")] }), "Approved,Failed");
  assert.equal(last({ conditions: [condition("Approved"), condition("Denied")] }), "Denied");
  assert.equal(last({ conditions: [condition("Approved")], certificate: request }), "Approved,Issued");
});

test("a CertificateSigningRequest can be selected by its signer", () => {
  const select = CertificateSigningRequest.selectableFields["spec.signerName"];

  assert.equal(select?.(read(CertificateSigningRequest, withSpec({}))), "kubernetes.io/kubelet-serving");
});
