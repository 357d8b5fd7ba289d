import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { ValidatingAdmissionPolicy } from "orlop/api/admissionregistration/validating-admission-policy.ts";
import { ValidatingAdmissionPolicyBinding } from "orlop/api/admissionregistration/validating-admission-policy-binding.ts";
import { Deployment } from "orlop/api/apps/deployment.ts";
import { startCluster } from "orlop/testing";
import { seed, web } from "./web.ts";

test("a policy refuses a Deployment with too many replicas", async () => {
  await using cluster = await startCluster({ seed });
  const rule = { apiGroups: ["apps"], apiVersions: ["v1"], operations: ["CREATE" as const, "UPDATE" as const], resources: ["deployments"] };
  await cluster.apply(ValidatingAdmissionPolicy, {
    metadata: { name: "small" },
    spec: {
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: "object.spec.replicas <= 5", message: "at most five replicas" }],
    },
  });
  await cluster.apply(ValidatingAdmissionPolicyBinding, {
    metadata: { name: "small" },
    spec: { policyName: "small", validationActions: ["Deny"] },
  });
  await cluster.settle();

  await assert.rejects(cluster.client.create(Deployment, web(6)), /at most five replicas/);
  await cluster.client.create(Deployment, web(5));
});

test("a webhook that nobody answers refuses what its failure policy says", async () => {
  await using cluster = await startCluster({ seed, clock: "system" });
  // A port that was free a moment ago.
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  server.close();
  const port = typeof address === "object" ? address?.port : 0;
  await cluster.applyYaml(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: strict }
webhooks:
  - name: strict.example.com
    clientConfig: { url: "https://127.0.0.1:${port}/" }
    rules: [{ apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments] }]
    failurePolicy: Fail
    sideEffects: None
    admissionReviewVersions: [v1]
`);
  await cluster.until(async () => {
    const dryRun = cluster.client.create(Deployment, web(1), { dryRun: true });
    return await dryRun.then(() => false, () => true);
  }, 20_000);

  await assert.rejects(cluster.client.create(Deployment, web(1)), /failed calling webhook "strict.example.com"/);
});
