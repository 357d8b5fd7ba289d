import assert from "node:assert/strict";
import { test } from "node:test";
import { type KernelState, planCalls } from "./apply-routes.ts";
import { type RoutePlan } from "./plan-routes.ts";

const nothing: KernelState = { routes: [], forwards: [], neighbours: [], tunnel: undefined };
const near = { to: "10.244.1.0/24", via: "192.168.0.2", link: "eth0" };
const far = { to: "10.244.2.0/24", via: "10.244.2.0", link: "tunnel" };
const farEnd = { node: "172.16.0.9", mac: "0a:58:ac:10:00:09", gateways: ["10.244.2.0"] };
const tunnel = {
  ...{ name: "tunnel", vni: 7, local: "192.168.0.1", mac: "0a:58:c0:a8:00:01" },
  ...{ addresses: ["10.244.0.0"], mtu: 1450, peers: [farEnd] },
};
const whole: RoutePlan = { routes: [near, far], tunnel };
const settled: KernelState = {
  routes: [near, far],
  forwards: [farEnd],
  neighbours: [{ mac: farEnd.mac, gateway: "10.244.2.0" }],
  tunnel: { ...tunnel, isUp: true },
};
const texts = (plan: RoutePlan, state: KernelState) => planCalls(plan, state, "tunnel").map((call) => call.join(" "));

test("planCalls() makes the tunnel before the routes that use it", () => {
  assert.deepEqual(texts(whole, nothing), [
    "ip link add tunnel address 0a:58:c0:a8:00:01 mtu 1450 type vxlan id 7 local 192.168.0.1 dstport 4789 nolearning",
    "ip address replace 10.244.0.0/32 dev tunnel",
    "ip link set tunnel up",
    "bridge fdb append 0a:58:ac:10:00:09 dev tunnel dst 172.16.0.9",
    "ip neigh replace 10.244.2.0 lladdr 0a:58:ac:10:00:09 dev tunnel nud permanent",
    "ip route replace 10.244.1.0/24 via 192.168.0.2 dev eth0 proto 151",
    "ip route replace 10.244.2.0/24 via 10.244.2.0 dev tunnel proto 151 onlink",
  ]);
});

test("planCalls() does nothing if the kernel has everything", () => {
  assert.deepEqual(texts(whole, settled), []);
});

test("planCalls() completes a tunnel that an earlier process left unfinished", () => {
  const unfinished = { ...settled, tunnel: { ...tunnel, mtu: 1400, addresses: ["10.244.9.0"], isUp: false } };
  assert.deepEqual(texts(whole, unfinished), [
    "ip link set tunnel mtu 1450",
    "ip address del 10.244.9.0/32 dev tunnel",
    "ip address replace 10.244.0.0/32 dev tunnel",
    "ip link set tunnel up",
  ]);
});

test("planCalls() makes the tunnel again when the node's address has changed", () => {
  const moved = { ...settled, tunnel: { ...tunnel, local: "192.168.0.7", addresses: ["10.244.0.0"], isUp: true } };
  assert.deepEqual(texts(whole, moved).slice(0, 2), [
    "ip link del tunnel",
    "ip link add tunnel address 0a:58:c0:a8:00:01 mtu 1450 type vxlan id 7 local 192.168.0.1 dstport 4789 nolearning",
  ]);
  assert.equal(texts(whole, moved).includes("bridge fdb append 0a:58:ac:10:00:09 dev tunnel dst 172.16.0.9"), true);
});

test("planCalls() removes a node that is gone, and the tunnel with the last one in it", () => {
  assert.deepEqual(texts({ routes: [near], tunnel: undefined }, settled), [
    "ip route del 10.244.2.0/24 via 10.244.2.0 proto 151",
    "ip link del tunnel",
  ]);
});

test("planCalls() follows a node that has moved", () => {
  const moved = { ...farEnd, node: "172.16.0.8", mac: "0a:58:ac:10:00:08" };
  assert.deepEqual(texts({ routes: [near, far], tunnel: { ...tunnel, peers: [moved] } }, settled), [
    "bridge fdb del 0a:58:ac:10:00:09 dev tunnel dst 172.16.0.9",
    "bridge fdb append 0a:58:ac:10:00:08 dev tunnel dst 172.16.0.8",
    "ip neigh replace 10.244.2.0 lladdr 0a:58:ac:10:00:08 dev tunnel nud permanent",
  ]);
});

test("planCalls() leads IPv6 through the tunnel, also to a neighbour", () => {
  const second = { to: "fd00:244:0:1::/64", via: "fd00:244:0:1::", link: "tunnel" };
  const end = { node: "192.168.0.2", mac: "0a:58:c0:a8:00:02", gateways: ["fd00:244:0:1::"] };
  const both = { ...tunnel, addresses: ["10.244.0.0", "fd00:244::"], peers: [end] };
  const calls = texts({ routes: [near, second], tunnel: both }, nothing);
  assert.deepEqual(calls.slice(1), [
    "ip address replace 10.244.0.0/32 dev tunnel",
    "ip address replace fd00:244::/128 dev tunnel",
    "ip link set tunnel up",
    "bridge fdb append 0a:58:c0:a8:00:02 dev tunnel dst 192.168.0.2",
    "ip neigh replace fd00:244:0:1:: lladdr 0a:58:c0:a8:00:02 dev tunnel nud permanent",
    "ip route replace 10.244.1.0/24 via 192.168.0.2 dev eth0 proto 151",
    "ip -6 route replace fd00:244:0:1::/64 via fd00:244:0:1:: dev tunnel proto 151 onlink",
  ]);
});
