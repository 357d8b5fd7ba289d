import assert from "node:assert/strict";
import { test } from "node:test";
import { type IPAddress } from "#api/networking/ip-address.ts";
import { type ServiceCIDR } from "#api/networking/service-cidr.ts";
import { atOnce } from "#lib/async/turns.ts";
import { planServiceCidr } from "./plan-service-cidr.ts";

const deletedAt = "2026-01-01T00:00:00Z";
const cidr = (name: string, cidrs: string[], deletionTimestamp?: string): ServiceCIDR => ({
  metadata: {
    name,
    uid: name,
    resourceVersion: "1",
    creationTimestamp: deletedAt,
    ...(deletionTimestamp ? { deletionTimestamp } : {}),
  },
  spec: { cidrs },
  status: {},
});
const address = (name: string, managedBy = "ipallocator.k8s.io"): IPAddress => ({
  metadata: {
    name,
    uid: name,
    resourceVersion: "1",
    creationTimestamp: deletedAt,
    labels: { "ipaddress.kubernetes.io/managed-by": managedBy },
  },
  spec: { parentRef: { resource: "services", namespace: "default", name: "a" } },
});

const ending = cidr("a", ["10.0.1.0/24", "fd00:1::/112"], deletedAt);
const cases = [
  { name: "a range that is not being deleted", cidr: cidr("a", ["10.0.1.0/24"]), plan: "ready" },
  { name: "a deleted range without addresses", plan: "release" },
  { name: "a deleted range, before all servers have heard of it", afterMs: 4000, plan: "wait" },
  { name: "a deleted range with an address", addresses: ["10.0.1.7"], plan: "blocked" },
  { name: "a deleted range with an address of its second family", addresses: ["fd00:1::7"], plan: "blocked" },
  { name: "a deleted range, if addresses are elsewhere", addresses: ["10.0.2.7", "10.0.1.0"], plan: "release" },
  { name: "a deleted range, if another has its addresses", others: [["10.0.0.0/16"]], plan: "release" },
  {
    name: "a deleted range, if another has some addresses",
    others: [["10.0.1.0/28"]],
    last: "10.0.1.99",
    plan: "blocked",
  },
  { name: "a deleted range within a larger one", others: [["10.0.0.0/8"], ["fd00:1::/64"]], plan: "release" },
];
for (const { name, cidr: given = ending, others = [], addresses, last, afterMs = 10_000, plan } of cases) {
  test(`planServiceCidr() answers "${plan}" for ${name}`, () => {
    const used = [...(addresses ?? (others.length > 0 ? ["10.0.1.7"] : [])), ...(last ? [last] : [])];
    const world = {
      cidrs: [given, ...others.map((ranges, index) => cidr(`other-${index}`, ranges))],
      addresses: used.map((text) => address(text)),
      now: Date.parse(deletedAt) + afterMs,
    };

    assert.equal(atOnce(planServiceCidr(given, world)).type, plan);
  });
}

test("planServiceCidr() does not rely on another range that is being deleted too", () => {
  const cidrs = [ending, cidr("b", ["10.0.0.0/16"], deletedAt)];
  const world = { cidrs, addresses: [address("10.0.1.7")], now: Date.parse(deletedAt) + 20_000 };

  assert.equal(atOnce(planServiceCidr(ending, world)).type, "blocked");
});

test("planServiceCidr() ignores addresses of other managers", () => {
  const world = { cidrs: [ending], addresses: [address("10.0.1.7", "me")], now: Date.parse(deletedAt) + 20_000 };

  assert.equal(atOnce(planServiceCidr(ending, world)).type, "release");
});
