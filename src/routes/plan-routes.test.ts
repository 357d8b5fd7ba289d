import assert from "node:assert/strict";
import { test } from "node:test";
import { type Peer, planRoutes, type RouteInput } from "./plan-routes.ts";

const peer = (name: string, address: string, podCidr: string, createdAt = "2026-01-01T00:00:00Z"): Peer => ({
  name,
  address,
  podCidr,
  createdAt,
});

const input = (peers: readonly Peer[], more: Partial<RouteInput> = {}): RouteInput => ({
  address: "192.168.0.1",
  podCidr: "10.244.0.0/24",
  clusterCidr: "10.244.0.0/16",
  tunnelName: "tunnel",
  links: [
    { name: "lo", cidr: "127.0.0.1/8", mtu: 65536 },
    { name: "eth0", cidr: "192.168.0.1/24", mtu: 9000 },
    { name: "eth1", cidr: "172.16.0.1/32", mtu: 1500 },
  ],
  peers,
  ...more,
});

test("planRoutes() gives a neighbour on a link a plain route", () => {
  assert.deepEqual(planRoutes(input([peer("b", "192.168.0.2", "10.244.1.0/24")])), {
    routes: [{ to: "10.244.1.0/24", via: "192.168.0.2", link: "eth0" }],
    tunnel: undefined,
  });
});

test("planRoutes() reaches a node behind a router through the tunnel, whose other end it can derive", () => {
  const far = peer("b", "172.16.0.9", "10.244.1.0/24");
  const { routes, tunnel } = planRoutes(input([far]));
  const back = planRoutes(
    input([peer("a", "192.168.0.1", "10.244.0.0/24")], {
      address: "172.16.0.9",
      podCidr: "10.244.1.0/24",
      links: [{ name: "eth0", cidr: "172.16.0.9/24", mtu: 1500 }],
    }),
  );

  assert.deepEqual(routes, [{ to: "10.244.1.0/24", via: "10.244.1.0", link: "tunnel" }]);
  assert.deepEqual(tunnel?.peers, [{ node: "172.16.0.9", mac: "0a:58:ac:10:00:09", gateways: ["10.244.1.0"] }]);
  assert.equal(back.tunnel?.mac, "0a:58:ac:10:00:09");
  assert.deepEqual(back.tunnel.addresses, ["10.244.1.0"]);
  assert.equal(back.tunnel.vni, tunnel.vni);
  assert.deepEqual([tunnel.mtu, back.tunnel.mtu], [8950, 1450]);
});

test("planRoutes() uses the tunnel if the other node could not answer on the same link", () => {
  const links = [
    { name: "eth0", cidr: "192.168.0.1/24", mtu: 9000 },
    { name: "eth1", cidr: "172.16.0.1/24", mtu: 1500 },
  ];
  const { routes } = planRoutes(input([peer("b", "172.16.0.9", "10.244.1.0/24")], { links }));
  assert.deepEqual(routes, [{ to: "10.244.1.0/24", via: "10.244.1.0", link: "tunnel" }]);
});

const refused: Readonly<Record<string, Peer>> = {
  "a range outside the cluster's": peer("b", "192.168.0.2", "0.0.0.0/0"),
  "this node's range": peer("b", "192.168.0.2", "10.244.0.128/25"),
  "the range of an older node": peer("b", "192.168.0.2", "10.244.7.0/24", "2026-02-01T00:00:00Z"),
  "an address that is no address": peer("b", "192.168.0.2; reboot", "10.244.1.0/24"),
  "a range that is no range": peer("b", "192.168.0.2", "10.244.1.0/24 dev lo"),
  "the address of this node": peer("b", "192.168.0.1", "10.244.1.0/24"),
  "another address of this machine": peer("b", "172.16.0.1", "10.244.1.0/24"),
  "an address among the pods": peer("b", "10.244.3.3", "10.244.1.0/24"),
};
for (const [what, hostile] of Object.entries(refused)) {
  test(`planRoutes() gives no route to a node that claims ${what}`, () => {
    const { routes } = planRoutes(input([hostile, peer("old", "192.168.0.3", "10.244.7.0/24")]));
    assert.deepEqual(routes, [{ to: "10.244.7.0/24", via: "192.168.0.3", link: "eth0" }]);
  });
}

test("planRoutes() leads IPv6 through the tunnel to nodes whose second range is theirs", () => {
  const both = { podCidr6: "fd00:244::/64", clusterCidr6: "fd00:244::/56" };
  const second = (name: string, n: number, podCidr6: string) => ({
    ...peer(name, `192.168.0.${n}`, `10.244.${n}.0/24`),
    podCidr6,
  });
  const { routes, tunnel } = planRoutes(
    input(
      [
        second("b", 2, "fd00:244:0:2::/64"),
        second("c", 3, "fd00:244:0:2:8000::/65"),
        second("d", 4, "fd00:244::/64"),
        second("e", 5, "::/0"),
        second("f", 6, "fd00:244:0:6::/64 dev lo"),
      ],
      both,
    ),
  );

  assert.deepEqual(
    routes.filter(({ to }) => to.includes(":")),
    [{ to: "fd00:244:0:2::/64", via: "fd00:244:0:2::", link: "tunnel" }],
  );
  assert.equal(routes.length, 6);
  assert.deepEqual(tunnel?.peers, [{ node: "192.168.0.2", mac: "0a:58:c0:a8:00:02", gateways: ["fd00:244:0:2::"] }]);
  assert.deepEqual(tunnel.addresses, ["10.244.0.0", "fd00:244::"]);
});
