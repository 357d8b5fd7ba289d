import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/core/pod.ts";
import { renderHostsFile, renderNodeHostsFile } from "./hosts-file.ts";
import { parseResolvConf, planPodDns, podHostname } from "./pod-dns.ts";

const aPod = (spec: object): Pod => ({ metadata: { name: "web-0", namespace: "shop" }, spec }) as unknown as Pod;
const host = { servers: ["1.1.1.1"], searches: ["corp.example"], options: ["timeout:2"] };
const cluster = { servers: ["10.96.0.10"], domain: "cluster.local" };
const inCluster = {
  servers: ["10.96.0.10"],
  searches: ["shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "corp.example"],
  options: ["ndots:5"],
};
const ownConfig = {
  nameservers: ["9.9.9.9"],
  searches: ["x"],
  options: [{ name: "ndots", value: "2" }, { name: "edns0" }],
};

const cases = [
  { name: "the cluster's by default", spec: { dnsPolicy: "ClusterFirst" }, config: inCluster },
  { name: "the node's on its network", spec: { dnsPolicy: "ClusterFirst", hostNetwork: true }, config: host },
  {
    name: "the cluster's on the node's network if asked",
    spec: { dnsPolicy: "ClusterFirstWithHostNet", hostNetwork: true },
    config: inCluster,
  },
  { name: "the node's by policy", spec: { dnsPolicy: "Default" }, config: host },
  {
    name: "only the pod's own",
    spec: { dnsPolicy: "None", dnsConfig: ownConfig },
    config: { servers: ["9.9.9.9"], searches: ["x"], options: ["ndots:2", "edns0"] },
  },
  {
    name: "the pod's options over the policy's",
    spec: { dnsPolicy: "ClusterFirst", dnsConfig: { options: [{ name: "ndots", value: "1" }] } },
    config: { ...inCluster, options: ["ndots:1"] },
  },
];
for (const { name, spec, config } of cases) {
  test(`planPodDns() takes ${name}`, () => {
    assert.deepEqual(planPodDns(aPod(spec), host, cluster), { config, warnings: [] });
  });
}

test("planPodDns() omits what exceeds the limits of resolvers, and says so", () => {
  const nameservers = ["1.0.0.1", "1.0.0.2", "1.0.0.3", "1.0.0.4"];
  const searches = [...Array.from({ length: 40 }, (_, n) => `s${n}`), "y".repeat(300)];
  const pod = aPod({ dnsPolicy: "None", dnsConfig: { nameservers, searches } });

  const { config, warnings } = planPodDns(pod, host, cluster);

  assert.deepEqual([config.servers.length, config.searches.length, warnings.length], [3, 32, 2]);
  assert.match(warnings[0] ?? "", /^Nameserver limits were exceeded.*1\.0\.0\.1 1\.0\.0\.2 1\.0\.0\.3$/);
});

test("parseResolvConf() reads a file as resolvers do", () => {
  const text =
    "# c\nnameserver 1.1.1.1\nsearch a b\n nameserver ::1\nsearch x. .\noptions ndots:1 a\noptions ndots:2\n";

  assert.deepEqual(parseResolvConf(text), { servers: ["1.1.1.1", "::1"], searches: ["x"], options: ["ndots:2", "a"] });
});

test("podHostname() uses the spec, or as much of the pod's name as fits", () => {
  const long = { metadata: { name: `${"a".repeat(62)}-b`, namespace: "n" }, spec: {} } as unknown as Pod;

  const { hostname, domain } = podHostname(aPod({ hostname: "h", subdomain: "web" }), "cluster.local");

  assert.deepEqual([hostname, domain], ["h", "web.shop.svc.cluster.local"]);
  assert.equal(podHostname(long, "c").hostname, "a".repeat(62));
});

test("renderHostsFile() names the pod and its aliases", () => {
  const aliases = [{ ip: "1.2.3.4", hostnames: ["a", "b"] }];

  const file = renderHostsFile({ ips: ["10.0.0.5"], hostname: "h", domain: "web.shop.svc.c", aliases });

  assert.match(file, /^# Kubernetes-managed hosts file\.\n127\.0\.0\.1\tlocalhost\n/);
  assert(file.endsWith("10.0.0.5\th.web.shop.svc.c\th\n\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n"));
  const node = renderNodeHostsFile("127.0.0.1 x\n", []);
  assert.equal(node, "# Kubernetes-managed hosts file (host network).\n127.0.0.1 x\n");
});
