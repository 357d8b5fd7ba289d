import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Pod } from "#api/core/pod.ts";
import { type Service } from "#api/core/service.ts";
import { type EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { type NetworkPolicy } from "#api/networking/network-policy.ts";
import { canMakeNetworks, createTestNetwork } from "#testing/network/test-network.ts";
import { planHostPorts, renderHostPorts } from "./host-ports.ts";
import { type RuleConfig, renderService, tableFrame } from "./nftables.ts";
import { parseAddress } from "./parse-values.ts";
import { parsePolicy } from "./policy/parse-policy.ts";
import { renderGroup } from "./policy/render-policy.ts";
import { RuleTable } from "./rule-table.ts";
import { planService } from "./service-map.ts";

const skip = (await canMakeNetworks()) ? false : "needs root, ip and nft";

/** What a user may write. The proxy must not rely on the API server to refuse it. */
const address = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.constantFrom("08.8.8.8", "010.1.2.3", "::ffff:10.1.2.3", "fe80::1%eth0", "", "0.0.0.0", "::", "255.255.255.255"),
  fc.constantFrom("224.0.0.1", "10.96.0.10", "127.0.0.1", "1.2.3.4 }; flush ruleset; {", "1.2.3.4/8", "$x", "\n"),
  fc.string({ maxLength: 50 }),
);
const range = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.constantFrom("10.0.0.0/8", " 10.0.0.0/9 ", "10.1.0.0/16", "10.1.2.3/24", "fd00::/8", "fd00:1::/32"),
  },
  fc.tuple(fc.ipV4(), fc.integer({ min: -1, max: 40 })).map(([base, bits]) => `${base}/${bits}`),
  fc.tuple(fc.ipV6(), fc.integer({ min: 0, max: 130 })).map(([base, bits]) => `${base}/${bits}`),
  fc.constantFrom("0.0.0.0/0", "all", ""),
);
const port = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 65_535 }) },
  fc.constantFrom(0, -1, 65_536, 2 ** 31 - 1, 1.5, Number.NaN),
);
const protocol = fc.constantFrom("TCP", "UDP", "SCTP", "TCP", "ICMP", "tcp; drop", "");
const name = fc.oneof(
  fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/),
  fc.stringMatching(/^[a-z0-9][-.a-z0-9]{200,250}[a-z0-9]$/),
  fc.constantFrom("a b", 'x"y', "é", "", "-", "add", "0", "..", "_", "a/b"),
);
const portName = fc.constantFrom("", "http", "dns");
const policy = fc.constantFrom("Local", "Cluster", "Odd");

const service = fc.record({
  metadata: fc.record({ namespace: name, name, creationTimestamp: fc.constantFrom("2024-01-01T00:00:00Z", '"') }),
  spec: fc.record({
    type: fc.constantFrom("ClusterIP", "NodePort", "LoadBalancer", "Odd"),
    clusterIP: fc.oneof(fc.ipV4(), address),
    externalIPs: fc.array(address, { maxLength: 5 }),
    loadBalancerSourceRanges: fc.array(range, { maxLength: 6 }),
    ports: fc.array(fc.record({ name: portName, port, protocol, nodePort: port }), { maxLength: 4 }),
    sessionAffinity: fc.constantFrom("None", "ClientIP"),
    sessionAffinityConfig: fc.record({ clientIP: fc.record({ timeoutSeconds: port }) }),
    internalTrafficPolicy: policy,
    externalTrafficPolicy: policy,
  }),
  status: fc.record({
    loadBalancer: fc.record({
      ingress: fc.array(fc.record({ ip: address, ipMode: fc.constant("VIP") }), { maxLength: 3 }),
    }),
  }),
});
const slice = fc.record({
  metadata: fc.constant({}),
  addressType: fc.constantFrom("IPv4", "IPv6"),
  ports: fc.array(fc.record({ name: portName, port, protocol }), { maxLength: 4 }),
  endpoints: fc.array(
    fc.record({
      addresses: fc.array(address, { maxLength: 2 }),
      nodeName: fc.constantFrom("node-1", "node-2"),
      conditions: fc.record({ ready: fc.boolean(), serving: fc.boolean(), terminating: fc.boolean() }),
    }),
    { maxLength: 5 },
  ),
});
const hostPort = fc.record({ containerPort: port, hostPort: port, hostIP: address, protocol });
const pod = fc.record({
  metadata: fc.record({ namespace: name, name }),
  spec: fc.record({
    containers: fc.array(fc.record({ ports: fc.array(hostPort, { maxLength: 4 }) }), { maxLength: 2 }),
  }),
  status: fc.record({ podIPs: fc.array(fc.record({ ip: address }), { maxLength: 2 }) }),
});
const selector = fc.constantFrom(undefined, {}, { matchLabels: { a: "b" } });
const policyRule = fc.record({
  peers: fc.array(
    fc.oneof(
      fc.record({ podSelector: selector, namespaceSelector: selector }),
      fc.record({ ipBlock: fc.record({ cidr: range, except: fc.array(range, { maxLength: 4 }) }) }),
    ),
    { maxLength: 3 },
  ),
  ports: fc.array(
    fc.record({ protocol, port: fc.oneof(port, portName), endPort: fc.option(port, { nil: undefined }) }),
    {
      maxLength: 5,
    },
  ),
});
const networkPolicy = fc
  .record({ ingress: fc.array(policyRule, { maxLength: 3 }), egress: fc.array(policyRule, { maxLength: 3 }) })
  .map(({ ingress, egress }) => ({
    metadata: { namespace: "default", name: "p" },
    spec: {
      ...{ podSelector: {}, policyTypes: ["Ingress", "Egress"] },
      ingress: ingress.map(({ peers, ports }) => ({ from: peers, ports })),
      egress: egress.map(({ peers, ports }) => ({ to: peers, ports })),
    },
  }));
const cluster = fc.record({
  policies: fc.array(networkPolicy, { maxLength: 3 }),
  services: fc.array(fc.tuple(service, fc.array(slice, { maxLength: 3 })), { minLength: 5, maxLength: 25 }),
  pods: fc.array(pod, { maxLength: 10 }),
});

const configOf = (family: "ip" | "ip6"): RuleConfig => ({
  ...{
    tableName: "property",
    family,
    bridgeIsFiltered: true,
    changedSettings: [],
    clientPorts: [32_768, 60_999],
    ownPorts: [6443, 10250],
  },
  ...(family === "ip"
    ? { clusterCidr: "10.244.0.0/16", podCidr: "10.244.0.0/24", serviceCidr: "10.96.0.0/16" }
    : { clusterCidr: "fd00:1::/64", podCidr: "fd00:1::/80", serviceCidr: "fd00:2::/112" }),
});

for (const family of ["ip", "ip6"] as const) {
  test(`nft accepts the rules of any services, pods and policies, for ${family}`, { skip }, async () => {
    await using network = await createTestNetwork();
    const config = configOf(family);
    const node = { name: "node-1", zone: "", family: family === "ip" ? "IPv4" : "IPv6" } as const;

    await fc.assert(
      fc.asyncProperty(cluster, async ({ services, pods, policies }) => {
        const table = new RuleTable(tableFrame(config));
        for (const [index, [object, slices]] of services.entries()) {
          const plan = planService(object as unknown as Service, slices as unknown as EndpointSlice[], node);
          table.set(`service ${index}`, plan && renderService(family, config.clusterCidr, plan));
        }
        for (const [index, object] of pods.entries()) {
          const ports = planHostPorts(object as unknown as Pod, family);
          const { namespace, name: called } = object.metadata;
          table.set(`pod ${index}`, renderHostPorts(config, { namespace, name: called, rank: "", ports }));
        }
        const known = pods.flatMap(({ status }) =>
          status.podIPs.flatMap(({ ip }) => parseAddress(ip, node.family) ?? []),
        );
        const members = known.map((one) => ({ address: one, ports: [{ name: "http", protocol: "tcp", port: 80 }] }));
        const plans = policies.map((object) => parsePolicy(object as unknown as NetworkPolicy, node.family));
        const group = { id: "group", members: [], policies: plans, pods: members, membersOf: () => members };
        table.set("policies", renderGroup(family, group));
        const text = table.takeChanges();
        await network.node
          .run("nft", ["-c", "-f", "-"], text)
          .catch((error: unknown) => assert.fail(`${error}\n${text}`));
      }),
      { numRuns: 60, seed: 7, endOnFailure: true },
    );
  });
}
