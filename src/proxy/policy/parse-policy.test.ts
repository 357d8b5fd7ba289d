import assert from "node:assert/strict";
import { test } from "node:test";
import { type NetworkPolicy } from "#api/networking/network-policy.ts";
import { parsePolicy } from "./parse-policy.ts";

const parse = (spec: object) =>
  parsePolicy(
    { metadata: { namespace: "one", name: "p" }, spec: { podSelector: {}, ...spec } } as unknown as NetworkPolicy,
    "IPv4",
  );
const portsOf = (ports: object[]) => parse({ ingress: [{ ports }] }).rules.ingress?.[0]?.ports;
const peersOf = (from: object[]) => parse({ ingress: [{ from }] }).rules.ingress?.[0]?.peers;

test("a policy restricts the directions that it names, incoming traffic by default", () => {
  assert.deepEqual(parse({}).rules, { ingress: [] });
  assert.deepEqual(parse({ policyTypes: ["Egress"] }).rules, { egress: [] });
  assert.deepEqual(parse({ policyTypes: ["Ingress", "Egress"] }).rules, { ingress: [], egress: [] });
});

test("a rule without peers or ports allows all of them, and one with unreadable ones none", () => {
  assert.deepEqual(parse({ ingress: [{}] }).rules.ingress, [{ peers: undefined, ports: undefined }]);
  assert.deepEqual(portsOf([{ port: 70_000 }, { port: 80, protocol: "XTP" }]), { ranges: [], named: [] });
  assert.deepEqual(peersOf([{ ipBlock: { cidr: "10.0.0.0/8; drop" } }, {}]), { pods: [], blocks: [] });
  assert.deepEqual(peersOf([{ ipBlock: { cidr: "fd00::/8" } }]), { pods: [], blocks: [] }, "the other family");
});

test("ranges of ports that touch are joined, and all ports of a protocol contain the others", () => {
  const ports = [{ port: 90, endPort: 95 }, { port: 80 }, { port: 93, endPort: 99 }, { port: 81 }, { port: "web" }];

  assert.deepEqual(portsOf([...ports, { protocol: "UDP" }, { protocol: "UDP", port: 53 }]), {
    ranges: [{ protocol: "tcp", first: 80, last: 81 }, { protocol: "tcp", first: 90, last: 99 }, { protocol: "udp" }],
    named: [{ protocol: "tcp", name: "web" }],
  });
});

test("peers are pods of the policy's namespace, pods of selected namespaces, or blocks with exceptions", () => {
  const podSelector = { matchLabels: { app: "a" } };
  const ipBlock = { cidr: "10.1.2.3/16", except: ["10.1.5.0/24", "10.1.5.128/25"] };

  assert.deepEqual(
    peersOf([{ podSelector }, { namespaceSelector: {} }, { podSelector, namespaceSelector: {} }, { ipBlock }]),
    {
      pods: [
        { namespaces: "one", pods: podSelector },
        { namespaces: {}, pods: {} },
        { namespaces: {}, pods: podSelector },
      ],
      blocks: [{ range: "10.1.0.0/16", except: ["10.1.5.0/24"] }],
    },
  );
});

test("a policy with too many peers, exceptions or ports restricts, and allows nothing", () => {
  const many = (make: (at: number) => unknown) => Array.from({ length: 2_001 }, (_, at) => make(at));
  for (const rule of [
    { ports: many((at) => ({ port: at + 1 })) },
    { from: many(() => ({ podSelector: {} })) },
    { from: [{ ipBlock: { cidr: "10.0.0.0/8", except: many(() => "10.1.0.0/16") } }] },
  ]) {
    const { rules, faults } = parse({ ingress: [{}, rule] });
    assert.deepEqual(rules, { ingress: [] });
    assert.match(faults.join(), /allows nothing/);
  }
});
