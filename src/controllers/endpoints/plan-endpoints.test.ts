import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { Endpoints } from "#api/core/service/endpoints.ts";
import { Service } from "#api/core/service.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { planEndpoints } from "./plan-endpoints.ts";

const namespace = "shop";
const service = (spec: InputOf<Service>["spec"] = {}): Service =>
  build(Service, {
    metadata: { namespace, name: "web", labels: { team: "a" } },
    spec: { clusterIP: "10.96.0.9", selector: { app: "web" }, ports: [{ port: 80 }], ...spec },
  });
const pod = (
  index: number,
  { ready = true, ips = [`10.1.0.${index}`], spec = {}, metadata = {}, phase = "Running" as const } = {},
): Pod =>
  build(Pod, {
    metadata: { namespace, name: `p${index}`, uid: `u${index}`, ...metadata },
    spec: {
      containers: [{ name: "c", image: "i", ports: [{ name: "http", containerPort: 8000 + index }] }],
      nodeName: "n1",
      ...spec,
    },
    status: {
      phase,
      podIP: ips[0] ?? "",
      podIPs: ips.map((ip) => ({ ip })),
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
    },
  });
const plan = (of: Service, pods: readonly Pod[], current?: Endpoints, time?: string) =>
  planEndpoints(of, { pods, current, time });
const shown = (next: InputOf<Endpoints> | undefined) =>
  next?.subsets?.map(({ addresses = [], notReadyAddresses = [], ports = [] }) => [
    addresses.map(({ ip }) => ip).join(),
    notReadyAddresses.map(({ ip }) => ip).join(),
    ports.map(({ port }) => port).join(),
  ]);
const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };

const cases = [
  {
    name: "puts pods that are not ready apart",
    pods: [pod(1), pod(2, { ready: false })],
    subsets: [["10.1.0.1", "10.1.0.2", "80"]],
  },
  {
    name: "publishes pods that are not ready if asked to",
    spec: { publishNotReadyAddresses: true },
    pods: [pod(2, { ready: false })],
    subsets: [["10.1.0.2", "", "80"]],
  },
  { name: "leaves out pods that end", pods: [pod(1, { metadata: deleted })], subsets: [] },
  { name: "leaves out pods without an address", pods: [pod(1, { ips: [] })], subsets: [] },
  {
    name: "finds ports by name",
    spec: { ports: [{ port: 80, targetPort: "http" }] },
    pods: [pod(1), pod(2)],
    subsets: [
      ["10.1.0.1", "", "8001"],
      ["10.1.0.2", "", "8002"],
    ],
  },
  {
    name: "leaves out pods without the named port",
    spec: { ports: [{ port: 80, targetPort: "x" }] },
    pods: [pod(1)],
    subsets: [],
  },
  {
    name: "uses the first family of the service",
    spec: { ipFamilies: ["IPv6" as const, "IPv4" as const] },
    pods: [pod(1, { ips: ["10.1.0.1", "fd00::1"] })],
    subsets: [["fd00::1", "", "80"]],
  },
  {
    name: "allows a headless service without ports",
    spec: { clusterIP: "None", ports: [] },
    pods: [pod(1)],
    subsets: [["10.1.0.1", "", ""]],
  },
  { name: "gives other services without ports no addresses", spec: { ports: [] }, pods: [pod(1)], subsets: [] },
];
for (const { name, spec, pods, subsets } of cases) {
  test(`planEndpoints() ${name}`, () => assert.deepEqual(shown(plan(service(spec), pods)), subsets));
}

test("planEndpoints() sets labels and the time of the change, and then has nothing to do", () => {
  const headless = service({ clusterIP: "None" });
  const first = plan(headless, [pod(1)], undefined, "2026-01-01T00:00:00Z");
  assert(first);
  const current = build(Endpoints, first);

  assert.deepEqual(current.metadata.labels, {
    team: "a",
    "service.kubernetes.io/headless": "",
    "endpoints.kubernetes.io/managed-by": "endpoint-controller",
  });
  assert.deepEqual(current.metadata.annotations, {
    "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z",
  });
  assert.equal(plan(headless, [pod(1)], current), undefined);
  assert.deepEqual(plan(headless, [pod(2)], current)?.metadata?.annotations, {});
  assert.deepEqual(plan(service(), [pod(1)], current)?.metadata?.labels?.["service.kubernetes.io/headless"], undefined);
});

test("planEndpoints() marks Endpoints that had to be truncated, until they fit", () => {
  const pods = Array.from({ length: 1001 }, (_, index) => pod(index, { ips: [`10.1.${index >> 8}.${index & 255}`] }));
  const first = plan(service(), pods);
  assert(first);
  const current = build(Endpoints, first);

  assert.equal(current.subsets?.[0]?.addresses?.length, 1000);
  assert.deepEqual(current.metadata.annotations, { "endpoints.kubernetes.io/over-capacity": "truncated" });
  assert.equal(plan(service(), pods, current), undefined);
  assert.deepEqual(plan(service(), pods.slice(1), current)?.metadata?.annotations, {});
});

test("planEndpoints() names a pod by its host name within the service", () => {
  const [named] = [pod(1, { spec: { hostname: "one", subdomain: "web" } })];
  const [subset] = plan(service(), [named as Pod])?.subsets ?? [];

  assert.deepEqual(subset?.addresses, [
    { ip: "10.1.0.1", hostname: "one", nodeName: "n1", targetRef: { kind: "Pod", namespace, name: "p1", uid: "u1" } },
  ]);
});
