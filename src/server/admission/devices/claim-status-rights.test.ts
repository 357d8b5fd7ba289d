import assert from "node:assert/strict";
import { test } from "node:test";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { type ApiObject } from "#api/resource.ts";
import { requestFor, setUp } from "#server/admission/admission.suite.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { type UserInfo } from "#server/request/pipeline.ts";

const metadata = { name: "gpus", namespace: "shop" };
const device = { driver: "gpu.example.com", pool: "p", device: "x" };
const onNode = (node: string) => ({
  devices: { results: [{ request: "a", ...device }] },
  nodeSelector: { nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }] },
});
const allocation = onNode("a");
const driver: UserInfo = {
  name: "system:serviceaccount:kube-system:gpu-driver",
  groups: [],
  extra: { "authentication.kubernetes.io/node-name": ["a"] },
};

/** Tries to change the status, and returns what further rights were asked for. */
async function change({ from, to, user = driver, allowed = [], verb = "update" }: Attempt): Promise<string[]> {
  const asked: string[] = [];
  const authorizer: Authorizer = {
    name: "listed",
    authorize(_, { verb, resource, subresource, namespace, name }) {
      const what = `${verb} ${resource}/${subresource} ${namespace}/${name}`;
      asked.push(what);
      return { verdict: allowed.includes(what) ? "allow" : "no opinion", reason: "" };
    },
  };
  const oldObject = { metadata, spec: {}, status: from } as ApiObject;
  const object = { metadata, spec: {}, status: to };
  const request = requestFor(ResourceClaim, object, {
    operation: "UPDATE",
    verb,
    subresource: "status",
    oldObject,
    user,
  });
  await setUp({ authorizers: [authorizer] }).admit(request);
  return asked;
}
interface Attempt {
  readonly from: object;
  readonly to: object;
  readonly user?: UserInfo;
  readonly allowed?: readonly string[];
  readonly verb?: string;
}

const bind = "update resourceclaims/binding /";
const ownNode = "associated-node:update resourceclaims/driver shop/gpu.example.com";
const anyNode = "arbitrary-node:update resourceclaims/driver shop/gpu.example.com";

test("who allocates or reserves a claim needs the right to bind claims", async () => {
  const reservedFor = [{ resource: "pods", name: "web", uid: "1" }];

  assert.deepEqual(await change({ from: {}, to: { allocation }, allowed: [bind] }), [bind]);
  assert.deepEqual(await change({ from: { allocation }, to: { allocation, reservedFor }, allowed: [bind] }), [bind]);
  assert.deepEqual(await change({ from: { allocation, reservedFor }, to: { allocation, reservedFor } }), []);
  await assert.rejects(change({ from: { allocation }, to: {}, verb: "patch" }), {
    code: 422,
    message:
      'ResourceClaim.resource.k8s.io "gpus" is invalid: status.allocation: Forbidden: changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="patch" permission: resourceclaims.resource.k8s.io is forbidden: User "system:serviceaccount:kube-system:gpu-driver" cannot patch resource "resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope',
  });
});

test("a driver reports on devices of its own node, or of any node if it may", async () => {
  const from = { allocation };
  const to = { allocation, devices: [device] };

  assert.deepEqual(await change({ from, to, allowed: [ownNode] }), [ownNode]);
  assert.deepEqual(await change({ from, to, allowed: [anyNode] }), [ownNode, anyNode]);
  assert.deepEqual(await change({ from: to, to: from, allowed: [ownNode] }), [ownNode]);
  assert.deepEqual(await change({ from: to, to }), []);
});

test("a driver of another node, or a user who is no service account, needs the right for any node", async () => {
  const elsewhere = { allocation: onNode("b") };
  const jane = { ...driver, name: "jane" };
  const report = (base: object) => ({ from: base, to: { ...base, devices: [device] }, allowed: [ownNode] });

  await assert.rejects(change(report(elsewhere)), {
    message:
      'ResourceClaim.resource.k8s.io "gpus" is invalid: status.devices: Forbidden: changing status.devices requires resource="resourceclaims/driver", verb="[arbitrary-node:update]" permission: resourceclaims.resource.k8s.io "gpu.example.com" is forbidden: User "system:serviceaccount:kube-system:gpu-driver" cannot arbitrary-node:update resource "resourceclaims/driver" in API group "resource.k8s.io" in the namespace "shop"',
  });
  await assert.rejects(change({ ...report({ allocation }), user: jane }), /arbitrary-node:update/);
});
