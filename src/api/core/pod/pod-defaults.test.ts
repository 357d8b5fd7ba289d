import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultPullPolicy } from "#api/core/container/image-name.ts";
import { aPod } from "./testing-pod.ts";

test("a pod gets upstream's defaults", () => {
  const { spec } = aPod({}, { image: "nginx", ports: [{ containerPort: 80 }] });

  assert.deepEqual(spec, {
    serviceAccountName: "default",
    serviceAccount: "default",
    containers: [
      {
        name: "web",
        image: "nginx",
        ports: [{ containerPort: 80, protocol: "TCP" }],
        resources: {},
        terminationMessagePath: "/dev/termination-log",
        terminationMessagePolicy: "File",
        imagePullPolicy: "Always",
      },
    ],
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    securityContext: {},
    schedulerName: "default-scheduler",
    enableServiceLinks: true,
  });
});

test("a probe's zeros mean the defaults", () => {
  const [container] = aPod({}, { livenessProbe: { httpGet: { port: 80 }, timeoutSeconds: 0, periodSeconds: 0 } }).spec
    .containers;

  assert.deepEqual(container?.livenessProbe, {
    httpGet: { port: 80, path: "/", scheme: "HTTP" },
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  });
});

test("volumes get a source and a mode", () => {
  const { volumes } = aPod({
    volumes: [
      { name: "a" },
      { name: "b", secret: { secretName: "s" } },
      { name: "c", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } },
      { name: "d", hostPath: { path: "/x" } },
      { name: "e", image: { reference: "data:1" } },
      { name: "f", downwardAPI: { items: [{ path: "n", fieldRef: { fieldPath: "metadata.name" } }] } },
    ],
  }).spec;

  assert.deepEqual(volumes, [
    { name: "a", emptyDir: {} },
    { name: "b", secret: { secretName: "s", defaultMode: 420 } },
    {
      name: "c",
      projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 3600 } }], defaultMode: 420 },
    },
    { name: "d", hostPath: { path: "/x", type: "" } },
    { name: "e", image: { reference: "data:1", pullPolicy: "IfNotPresent" } },
    {
      name: "f",
      downwardAPI: {
        items: [{ path: "n", fieldRef: { fieldPath: "metadata.name", apiVersion: "v1" } }],
        defaultMode: 420,
      },
    },
  ]);
});

test("limits are requested, and amounts below a thousandth rounded up", () => {
  const { resources } = aPod({}, { resources: { limits: { cpu: "100u", memory: "1Gi" }, requests: { cpu: "0" } } }).spec
    .containers[0] ?? { resources: {} };

  assert.deepEqual(resources, { limits: { cpu: "1m", memory: "1Gi" }, requests: { cpu: "0", memory: "1Gi" } });
});

test("ports of the host network are ports of the host", () => {
  const [container] = aPod({ hostNetwork: true }, { ports: [{ containerPort: 80 }] }).spec.containers;

  assert.equal(container?.ports?.[0]?.hostPort, 80);
});

test("requests of the pod as a whole follow from its containers or its limits", () => {
  const { resources } = aPod(
    { resources: { limits: { cpu: "2", memory: "2Gi" } } },
    { resources: { requests: { cpu: "500m" } } },
  ).spec;

  assert.deepEqual(resources, { limits: { cpu: "2", memory: "2Gi" }, requests: { cpu: "500m", memory: "2Gi" } });
});

const policies = [
  ["nginx", "Always"],
  ["nginx:latest", "Always"],
  ["registry:5000/team/nginx", "Always"],
  ["nginx:1.25", "IfNotPresent"],
  [`nginx@sha256:${"0".repeat(64)}`, "IfNotPresent"],
  [`nginx:latest@sha256:${"0".repeat(64)}`, "Always"],
  ["Not An Image", "IfNotPresent"],
  ["", "IfNotPresent"],
] as const;
for (const [image, policy] of policies) {
  test(`defaultPullPolicy() of ${JSON.stringify(image)} is ${policy}`, () => {
    assert.equal(defaultPullPolicy(image), policy);
  });
}
