import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceClaimTemplate } from "#api/devices/resource-claim-template.ts";
import { requestFor, setUp } from "#server/admission/admission.suite.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";

const metadata = { name: "gpus", namespace: "shop" };
const specWith = (adminAccess: boolean) => ({
  devices: { requests: [{ name: "a", exactly: { deviceClassName: "gpu", adminAccess } }] },
});
const missingLabel =
  "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace";
const everything: Authorizer = { name: "everything", authorize: () => ({ verdict: "allow", reason: "" }) };

function setUpWith(labels: Record<string, string>) {
  const set = setUp({ authorizers: [everything] });
  set.informers.put(Namespace, { metadata: { name: "shop", labels }, status: { phase: "Active" } });
  return set;
}
const labelled = { "resource.kubernetes.io/admin-access": "true" };

test("a claim asks for admin access only in a namespace with the label", async () => {
  const claim = (adminAccess: boolean) => requestFor(ResourceClaim, { metadata, spec: specWith(adminAccess) });

  await setUpWith(labelled).admit(claim(true));
  await setUpWith({}).admit(claim(false));
  await assert.rejects(setUpWith({ "resource.kubernetes.io/admin-access": "yes" }).admit(claim(true)), {
    code: 422,
    message: `ResourceClaim.resource.k8s.io "gpus" is invalid: spec.devices.requests[0].adminAccess: Forbidden: ${missingLabel}`,
  });
});

test("a template of claims is treated like a claim", async () => {
  const template = requestFor(ResourceClaimTemplate, { metadata, spec: { spec: specWith(true) } });

  await setUpWith(labelled).admit(template);
  await assert.rejects(setUpWith({}).admit(template), { code: 422 });
});

test("admin access is not allocated without the label, but what was allocated stays", async () => {
  const result = { request: "a", driver: "d", pool: "p", device: "x", adminAccess: true };
  const allocated = { metadata, spec: specWith(true), status: { allocation: { devices: { results: [result] } } } };
  const write = (object: object, old: object) =>
    requestFor(ResourceClaim, object, {
      operation: "UPDATE",
      verb: "update",
      subresource: "status",
      oldObject: { metadata, ...old },
    });

  await setUpWith({}).admit(write(allocated, allocated));
  await assert.rejects(setUpWith({}).admit(write(allocated, { status: {} })), {
    message: `ResourceClaim.resource.k8s.io "gpus" is invalid: status.allocation.devices.results[0].adminAccess: Forbidden: ${missingLabel}`,
  });
});

test("the label is read from the server, if there is one", async () => {
  const client = { get: async () => ({ metadata: { name: "shop" } }) } as never;
  const set = setUp({ client });
  set.informers.put(Namespace, { metadata: { name: "shop", labels: labelled }, status: { phase: "Active" } });

  await assert.rejects(set.admit(requestFor(ResourceClaim, { metadata, spec: specWith(true) })), { code: 422 });
});
