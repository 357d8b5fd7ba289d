import assert from "node:assert/strict";
import { test } from "node:test";
import { type Service } from "#api/core/service.ts";
import { type IPAddress } from "#api/networking/ip-address.ts";
import { type NodePortClaim } from "./node-port-claim.ts";
import { planAddress, planPortClaim, planServiceAddress, planServicePort, type Repair } from "./plan-repair.ts";

const at = (second: number): string => new Date(second * 1000).toISOString().replace(".000", "");
const stamps = { uid: "u", resourceVersion: "1", creationTimestamp: at(0) };
const service = (name: string, spec: Partial<Service["spec"]> = {}): Service =>
  ({
    metadata: { ...stamps, namespace: "default", name },
    spec: { type: "NodePort", clusterIP: ip, clusterIPs: [ip], ports: [{ port: 80, nodePort: 30080 }], ...spec },
    status: {},
  }) as Service;
const ip = "10.96.0.7";
const labels = {
  "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
  "ipaddress.kubernetes.io/ip-family": "IPv4",
};
const address = (spec: IPAddress["spec"]["parentRef"] = {}, metadata: object = {}): IPAddress => ({
  metadata: { ...stamps, name: ip, labels, ...metadata },
  spec: { parentRef: { resource: "services", namespace: "default", name: "web", ...spec } },
});
const web = service("web");
const elsewhere = service("other", {
  clusterIP: "10.96.0.8",
  clusterIPs: ["10.96.0.8"],
  ports: [{ port: 80 }] as never,
});
const short = ({ action, event, againMs }: Repair) => [action ?? "-", event?.reason ?? "-", againMs ?? 0];

const ofService = [
  { name: "is as it should be", address: address(), parent: web, plan: ["-", "-", 0] },
  { name: "is missing", plan: ["create", "ClusterIPNotAllocated", 0] },
  { name: "is out of range", address: address(), parent: web, isInRange: false, plan: ["-", "ClusterIPOutOfRange", 0] },
  {
    name: "belongs to another kind",
    address: address({ resource: "gateways" }),
    plan: ["replace", "ClusterIPNotAllocated", 0],
  },
  {
    name: "belongs to a service that is gone",
    address: address({ name: "x" }),
    plan: ["replace", "ClusterIPNotAllocated", 0],
  },
  {
    name: "belongs to two services",
    address: address({ name: "two" }),
    parent: service("two"),
    plan: ["-", "ClusterIPAlreadyAllocated", 0],
  },
  { name: "names a service without it", address: address({ name: "other" }), parent: elsewhere, plan: ["-", "-", 0] },
  { name: "lost its labels", address: address({}, { labels: {} }), parent: web, plan: ["replace", "-", 0] },
];
for (const { name, address: given, parent, isInRange = true, plan } of ofService) {
  test(`planServiceAddress() repairs an address that ${name}`, () => {
    assert.deepEqual(short(planServiceAddress(web, ip, { address: given, parent, isInRange })), plan);
  });
}

const external = service("web", { type: "ExternalName", clusterIPs: [], clusterIP: "" });
const older = { creationTimestamp: at(5) };
const ofAddress = [
  { name: "keeps one that its service has", service: web, plan: ["-", "-", 0] },
  { name: "waits for the service", now: 20, plan: ["-", "-", 40_000] },
  { name: "deletes one without a service", now: 60, plan: ["delete", "IPAddressNotAllocated", 0] },
  {
    name: "deletes one of another kind",
    address: address({ resource: "gateways" }),
    plan: ["delete", "IPAddressNotAllocated", 0],
  },
  { name: "waits if the service may be about to get it", service: external, now: 50, plan: ["-", "-", 10_000] },
  {
    name: "deletes one that its service does not have",
    service: elsewhere,
    plan: ["delete", "IPAddressWrongReference", 0],
  },
  {
    name: "waits if it is newer than its service",
    address: address({}, older),
    service: elsewhere,
    now: 6,
    plan: ["-", "-", 4000],
  },
];
for (const { name, address: given = address(), service: parent, now = 0, plan } of ofAddress) {
  test(`planAddress() ${name}`, () => assert.deepEqual(short(planAddress(given, parent, now * 1000)), plan));
}

const claim: NodePortClaim = { metadata: { ...stamps, name: "30080" }, spec: { namespace: "default", name: "web" } };
const range = { min: 30000, max: 32767 };
const ofPort = [
  { name: "is as it should be", claim, owner: web, plan: ["-", "-", 0] },
  { name: "is not claimed", plan: ["create", "PortNotAllocated", 0] },
  { name: "is claimed for nobody", claim, plan: ["replace", "PortNotAllocated", 0] },
  { name: "is claimed for a service without it", claim, owner: elsewhere, plan: ["replace", "PortNotAllocated", 0] },
  { name: "belongs to two services", claim, owner: service("two"), plan: ["-", "PortAlreadyAllocated", 0] },
  { name: "is out of range", range: { min: 31000, max: 32000 }, plan: ["-", "PortOutOfRange", 0] },
];
for (const { name, claim: given, owner, range: ports = range, plan } of ofPort) {
  test(`planServicePort() repairs a port that ${name}`, () => {
    assert.deepEqual(short(planServicePort(web, 30080, { claim: given, owner, range: ports })), plan);
  });
}

test("planPortClaim() removes what no service has, a minute later", () => {
  assert.deepEqual(short(planPortClaim(claim, web, 100_000)), ["-", "-", 0]);
  assert.deepEqual(short(planPortClaim(claim, elsewhere, 50_000)), ["-", "-", 10_000]);
  assert.deepEqual(short(planPortClaim(claim, undefined, 60_000)), ["delete", "-", 0]);
});
