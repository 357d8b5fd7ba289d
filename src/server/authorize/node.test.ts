import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createNodeAuthorizer } from "./node.ts";

const informers = createFakeInformers();
const authorizer = createNodeAuthorizer({
  informers,
  volumes: {
    volumesOf: ({ name }) => (name === "data" ? [{ name: "pv1", secrets: [{ namespace: "shop", name: "disk" }] }] : []),
    nodeOfAttachment: (name) => (name === "attach-a" ? "a" : "b"),
    nodeOfResourceSlice: () => undefined,
  },
});
const user = { name: "system:node:a", groups: ["system:nodes"] };
const pod = (name: string, part: InputOf<Pod>): Pod =>
  informers.put(Pod, {
    ...part,
    metadata: { name, namespace: "shop", ...part.metadata },
    spec: { containers: [], ...part.spec },
  });
pod("web", {
  spec: {
    nodeName: "a",
    serviceAccountName: "web",
    imagePullSecrets: [{ name: "pull" }],
    containers: [{ name: "c", env: [{ name: "E", valueFrom: { secretKeyRef: { name: "env", key: "k" } } }] }],
    volumes: [
      { name: "v1", projected: { sources: [{ configMap: { name: "ca" } }] } },
      { name: "v2", persistentVolumeClaim: { claimName: "data" } },
      { name: "v3", ephemeral: {} },
    ],
  },
});
pod("other", { spec: { nodeName: "b", volumes: [{ name: "v", secret: { secretName: "theirs" } }] } });
pod("mirror", {
  metadata: { annotations: { "kubernetes.io/config.mirror": "x" } },
  spec: { nodeName: "a", volumes: [{ name: "v", secret: { secretName: "mirrored" } }] },
});

const info = (text: string, fieldSelector?: string): RequestInfo => {
  const [verb = "", target = "", namespace = "", name = ""] = text.split(" ");
  const slash = target.indexOf("/");
  const [resource = "", subresource = ""] = target.slice(slash + 1).split("/");
  const rest = { isResource: true, version: "v1", rest: "", path: "" };
  const selector = fieldSelector ? { fieldSelector } : {};
  return {
    ...rest,
    verb,
    group: target.slice(0, slash),
    resource,
    subresource,
    namespace: namespace === "-" ? "" : namespace,
    name,
    ...selector,
  };
};

const cases: { ask: string; selector?: string; refused?: string | true }[] = [
  { ask: "get /secrets shop pull" },
  { ask: "watch /secrets shop env" },
  { ask: "get /secrets shop disk" },
  { ask: "get /secrets shop theirs", refused: "no relationship found between node 'a' and this object" },
  { ask: "get /secrets shop mirrored", refused: "no relationship found between node 'a' and this object" },
  { ask: "get /secrets other pull", refused: "no relationship found between node 'a' and this object" },
  { ask: "list /secrets shop", refused: "No Object name found" },
  { ask: "list /secrets -", refused: "can only read namespaced object of this type" },
  { ask: "delete /secrets shop pull", refused: "can only read resources of this type" },
  { ask: "get /configmaps shop ca" },
  { ask: "get /persistentvolumeclaims shop data" },
  { ask: "get /persistentvolumeclaims shop web-v3" },
  { ask: "patch /persistentvolumeclaims/status shop data" },
  { ask: "list /persistentvolumeclaims shop", refused: "can only get individual resources of this type" },
  { ask: "get /persistentvolumes - pv1" },
  { ask: "get /persistentvolumes - pv2", refused: "no relationship found between node 'a' and this object" },
  { ask: "get storage.k8s.io/volumeattachments - attach-a" },
  { ask: "create /serviceaccounts/token shop web" },
  { ask: "get /serviceaccounts shop web" },
  {
    ask: "create /serviceaccounts/token shop admin",
    refused: "no relationship found between node 'a' and this object",
  },
  { ask: "list /serviceaccounts shop", refused: "can only create tokens for individual service accounts" },
  { ask: "get /nodes - a" },
  { ask: "get /nodes - b", refused: "node 'a' cannot read 'b', only its own Node object" },
  { ask: "list /nodes -", refused: "node 'a' cannot read all nodes, only its own Node object" },
  { ask: "patch /nodes/status - a" },
  { ask: "delete /nodes - a", refused: true },
  { ask: "get /pods shop web" },
  { ask: "get /pods shop other", refused: "no relationship found between node 'a' and this object" },
  { ask: "watch /pods -", selector: "spec.nodeName=a" },
  {
    ask: "watch /pods -",
    selector: "spec.nodeName=b",
    refused: "can only list/watch pods with spec.nodeName field selector",
  },
  { ask: "list /pods -", refused: "can only list/watch pods with spec.nodeName field selector" },
  { ask: "create /pods/eviction shop web" },
  { ask: "create /pods/exec shop web", refused: true },
  { ask: "update coordination.k8s.io/leases kube-node-lease a" },
  {
    ask: "update coordination.k8s.io/leases kube-node-lease b",
    refused: "can only access node lease with the same name as the requesting node",
  },
  {
    ask: "get coordination.k8s.io/leases shop a",
    refused: 'can only access leases in the "kube-node-lease" system namespace',
  },
  { ask: "create /events shop" },
  { ask: "list /services -" },
  { ask: "list /namespaces -", refused: true },
];
for (const { ask, selector, refused } of cases) {
  test(`a node ${refused ? "may not" : "may"} ${ask} ${selector ?? ""}`, async () => {
    const decision = await authorizer.authorize(user, info(ask, selector));

    assert.equal(decision.verdict, refused ? "no opinion" : "allow", decision.reason);
    if (typeof refused === "string") assert.equal(decision.reason, refused);
  });
}

test("has no opinion on users that are not nodes", async () => {
  for (const stranger of [
    { name: "system:node:a", groups: [] },
    { name: "jane", groups: ["system:nodes"] },
  ]) {
    assert.deepEqual(await authorizer.authorize(stranger, info("get /secrets shop pull")), {
      verdict: "no opinion",
      reason: "",
    });
  }
  const nameless = await authorizer.authorize(
    { name: "system:node:", groups: ["system:nodes"] },
    info("list /services -"),
  );
  assert.equal(nameless.reason, 'unknown node for user "system:node:"');
});
