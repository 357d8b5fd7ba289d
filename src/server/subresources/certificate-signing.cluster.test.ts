import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { createAuthority } from "#lib/crypto/x509.ts";
import { ask, type Said } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const pem = `-----BEGIN CERTIFICATE REQUEST-----
MIHrMIGRAgEAMC8xFTATBgNVBAoMDHN5c3RlbTpub2RlczEWMBQGA1UEAwwNc3lz
dGVtOm5vZGU6YTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJnTUUXcyCtUPmKX
Ah1sOupmvErC6kg4+SXFTFUnM4qJGPOTiq4khKrB5n86Vys1hVoMdrNLEI/rpCHv
mrbxEXSgADAKBggqhkjOPQQDAgNJADBGAiEA7IixjLnQw0Xl99bUFMS75ujmvRzd
1kt2qZW4jgy4zgUCIQCis4EH2WvP+ohvkbAI5nzhGjbh+YRHeatt5ZUJybJL8A==
-----END CERTIFICATE REQUEST-----
`;
const group = "certificates.k8s.io";
const path = `/apis/${group}/v1/certificatesigningrequests`;
const metadata = { name: "web:1" };
const spec = { request: Buffer.from(pem).toString("base64"), signerName: "example.com/web", usages: ["client auth"] };

let cluster: TestCluster;
before(async () => {
  cluster = await startCluster({ controllers: false });
  await cluster.client.create(ClusterRole, {
    metadata: { name: "requester" },
    rules: [
      { verbs: ["create", "get"], apiGroups: [group], resources: ["certificatesigningrequests"] },
      { verbs: ["update"], apiGroups: [group], resources: ["certificatesigningrequests/approval"] },
    ],
  });
  await cluster.client.create(ClusterRoleBinding, {
    metadata: { name: "jane" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "requester" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" }],
  });
});
after(() => cluster[Symbol.asyncDispose]());

const jane = { name: "jane", uid: "7", groups: ["system:authenticated"], extra: { team: ["web"] } };
const asJane = (line: string, body: object): Promise<Said> => ask(cluster.api.server, line, { body, user: jane });

test("a request is made by jane, approved by somebody who may, and gets its certificate", async () => {
  const made = await asJane(`POST ${path}`, {
    metadata,
    spec: { ...spec, username: "root", groups: ["system:masters"] },
  });
  const approved = { metadata, status: { conditions: [{ type: "Approved", status: "True", reason: "Known" }] } };
  const refused = await asJane(`PUT ${path}/web:1/approval`, approved);
  const decided = await ask(cluster.api.server, `PUT ${path}/web:1/approval`, { body: approved });
  const { certificate } = createAuthority({ subject: { commonName: "a" }, notBeforeMs: 0, notAfterMs: 86_400_000 });
  const signed = await ask(cluster.api.server, `PATCH ${path}/web:1/status`, {
    headers: { "content-type": "application/merge-patch+json" },
    body: { status: { certificate: Buffer.from(certificate).toString("base64") } },
  });

  assert.deepEqual(made.json.spec, {
    ...spec,
    username: "jane",
    uid: "7",
    groups: ["system:authenticated"],
    extra: { team: ["web"] },
  });
  assert.equal(refused.status, 403);
  assert.match(
    String(refused.json.message),
    /user not permitted to approve requests with signerName "example.com\/web"/,
  );
  assert.equal(decided.status, 200);
  assert.equal(signed.status, 200);
  const { status } = await cluster.client.get(CertificateSigningRequest, metadata);
  const [condition] = status.conditions ?? [];
  assert.equal(condition?.reason, "Known");
  assert.equal(condition?.lastUpdateTime, condition?.lastTransitionTime);
  assert(condition?.lastUpdateTime);
  assert.equal(Buffer.from(status.certificate ?? "", "base64").toString(), certificate);
});

test("requests can be listed by their signer", async () => {
  await cluster.client.create(CertificateSigningRequest, {
    metadata: { name: "other" },
    spec: { ...spec, signerName: "example.com/other" },
  });

  const found = await ask(cluster.api.server, `GET ${path}?fieldSelector=spec.signerName%3Dexample.com%2Fother`);

  assert.deepEqual(
    found.items.map(({ metadata }) => metadata?.name),
    ["other"],
  );
});
