import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { nodeUser } from "#cluster/identities.ts";
import { readSubject } from "#lib/crypto/x509.ts";
import { signingRequest } from "#testing/peers/signing-request.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const node = { commonName: "system:node:a", organizations: ["system:nodes"] };
const request = Buffer.from(signingRequest(node).pem).toString("base64");
const kubelet = {
  request,
  signerName: "kubernetes.io/kube-apiserver-client-kubelet",
  usages: ["digital signature", "client auth"],
};

const letNodesRenew = (cluster: TestCluster) =>
  cluster.client.create(ClusterRoleBinding, {
    metadata: { name: "renew" },
    roleRef: {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "ClusterRole",
      name: "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
    },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:nodes" }],
  });

test("a kubelet gets its next certificate once nodes may renew theirs, and the request is deleted", async () => {
  await using cluster = await startCluster();
  const asNode = cluster.clientFor(nodeUser("a"));
  const { metadata } = await asNode.create(CertificateSigningRequest, { metadata: { name: "a" }, spec: kubelet });
  await cluster.settle();
  const waiting = await cluster.client.get(CertificateSigningRequest, metadata);

  await letNodesRenew(cluster);
  await cluster.settle({ quietMs: 60_000 });
  const { status } = await cluster.client.get(CertificateSigningRequest, metadata);
  await cluster.clock.advance(3_700_000);
  const left = await cluster.list(CertificateSigningRequest);

  assert.deepEqual(waiting.status, {});
  const [approval, ...others] = status.conditions ?? [];
  assert.equal(approval?.reason, "AutoApproved");
  assert.equal(approval.message, "Auto approving self kubelet client certificate after SubjectAccessReview.");
  assert.deepEqual(others, []);
  const made = new X509Certificate(Buffer.from(status.certificate ?? "", "base64"));
  assert.deepEqual(readSubject(made), node);
  assert.deepEqual(left, []);
});

test("an approved request that its signer must not sign fails, once", async () => {
  await using cluster = await startCluster();
  const spec = { ...kubelet, signerName: "kubernetes.io/kubelet-serving" };
  const made = await cluster.client.create(CertificateSigningRequest, { metadata: { name: "a" }, spec });
  const conditions = [{ type: "Approved", status: "True" }];
  const approval = { subresource: "approval" };
  await cluster.client.update(CertificateSigningRequest, { ...made, status: { conditions } }, approval);
  await cluster.settle();

  const { status, metadata } = await cluster.client.get(CertificateSigningRequest, made);
  await cluster.settle({ quietMs: 600_000 });
  const later = await cluster.client.get(CertificateSigningRequest, made);

  assert.deepEqual(
    status.conditions?.map(({ type, reason, message }) => [type, reason, message]),
    [
      ["Approved", undefined, undefined],
      ["Failed", "SignerValidationFailure", "DNS or IP subjectAltName is required"],
    ],
  );
  assert.equal(status.certificate, undefined);
  assert.equal(later.metadata.resourceVersion, metadata.resourceVersion);
});
