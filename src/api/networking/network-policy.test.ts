import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, warningsOfNew } from "../faults.suite.ts";
import { NetworkPolicy } from "./network-policy.ts";

const metadata = { name: "web", namespace: "default" };
const policy = (spec: object) => ({ metadata, spec });
const ingress = (rule: object) => policy({ ingress: [rule] });
const ipBlock = (cidr: string, ...except: string[]) => ({ ipBlock: { cidr, except } });

test("a NetworkPolicy restricts ingress, and egress if it has a rule for it", () => {
  const spec = (sent: object) => read(NetworkPolicy, policy(sent)).spec;

  assert.deepEqual(spec({}), { podSelector: {}, policyTypes: ["Ingress"] });
  assert.deepEqual(spec({ egress: [{}] }).policyTypes, ["Ingress", "Egress"]);
  assert.deepEqual(spec({ egress: [{}], policyTypes: ["Egress"] }).policyTypes, ["Egress"]);
  assert.deepEqual(spec({ ingress: [{ ports: [{ port: 80 }] }] }).ingress, [
    { ports: [{ protocol: "TCP", port: 80 }] },
  ]);
});

const cases: readonly { name: string; object: object; faults: readonly string[] }[] = [
  { name: "may select all pods and allow nothing", object: policy({}), faults: [] },
  {
    name: "takes all forms of peers and ports",
    object: policy({
      podSelector: { matchLabels: { app: "web" } },
      ingress: [
        {
          ports: [{ port: "http" }, { port: 8000, endPort: 8010, protocol: "UDP" }, {}],
          from: [{ podSelector: {}, namespaceSelector: {} }, ipBlock("10.0.0.0/8", "10.1.0.0/16")],
        },
      ],
      egress: [{ to: [ipBlock("2001:db8::/32", "2001:db8:1::/48")] }],
    }),
    faults: [],
  },
  {
    name: "checks its selector",
    object: policy({ podSelector: { matchExpressions: [{ key: "a", operator: "In" }] } }),
    faults: [
      "spec.podSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ],
  },
  {
    name: "knows three protocols",
    object: ingress({ ports: [{ protocol: "ICMP" }, { protocol: "" }] }),
    faults: [
      'spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"',
      'spec.ingress[0].ports[1].protocol: Unsupported value: "": supported values: "TCP", "UDP", "SCTP"',
    ],
  },
  {
    name: "refuses ports that do not exist",
    object: ingress({ ports: [{ port: 0 }, { port: "not_a_port" }] }),
    faults: [
      "spec.ingress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
      'spec.ingress[0].ports[1].port: Invalid value: "not_a_port": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ],
  },
  {
    name: "ends a range after its beginning",
    object: ingress({
      ports: [
        { port: 80, endPort: 70 },
        { port: 80, endPort: 70000 },
      ],
    }),
    faults: [
      "spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`",
      "spec.ingress[0].ports[1].endPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
    ],
  },
  {
    name: "has a range only for a number",
    object: policy({ egress: [{ ports: [{ port: "http", endPort: 81 }, { endPort: 81 }] }] }),
    faults: [
      "spec.egress[0].ports[0].endPort: Invalid value: 81: may not be specified when `port` is non-numeric",
      "spec.egress[0].ports[1].endPort: Invalid value: 81: may not be specified when `port` is not specified",
    ],
  },
  {
    name: "wants a peer that is one thing",
    object: ingress({ from: [{}, { ...ipBlock("10.0.0.0/8"), podSelector: {} }] }),
    faults: [
      "spec.ingress[0].from[0]: Required value: must specify a peer",
      "spec.ingress[0].from[1]: Forbidden: may not specify both ipBlock and another peer",
    ],
  },
  {
    name: "wants ranges that can be read",
    object: ingress({ from: [ipBlock(""), ipBlock("10.0.0.1/8"), ipBlock("ten", "10.0.0.0/8")] }),
    faults: [
      "spec.ingress[0].from[0].ipBlock.cidr: Required value",
      'spec.ingress[0].from[1].ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length',
      'spec.ingress[0].from[2].ipBlock.cidr: Invalid value: "ten": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
  },
  {
    name: "leaves out only parts of a range",
    object: ingress({ from: [ipBlock("10.0.0.0/8", "10.0.0.0/8", "11.0.0.0/16", "2001:db8::/64", "x")] }),
    faults: [
      'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
      'spec.ingress[0].from[0].ipBlock.except[1]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
      'spec.ingress[0].from[0].ipBlock.except[2]: Invalid value: "2001:db8::/64": must be a strict subset of `cidr`',
      'spec.ingress[0].from[0].ipBlock.except[3]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
  },
  {
    name: "knows two directions",
    object: policy({ policyTypes: ["Ingress", "Sideways"] }),
    faults: ['spec.policyTypes[1]: Unsupported value: "Sideways": supported values: "Ingress", "Egress"'],
  },
  {
    name: "names each direction once",
    object: policy({ policyTypes: ["Ingress", "Egress", "Ingress"] }),
    faults: [
      'spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more than two policyTypes',
    ],
  },
];
for (const { name, object, faults } of cases) {
  test(`a NetworkPolicy ${name}`, () => assert.deepEqual(faultsOf(NetworkPolicy, object), faults));
}

test("a NetworkPolicy is warned of ranges in an unusual form", () => {
  const sent = policy({ egress: [{ to: [ipBlock("2001:DB8::/32", "2001:db8:0::/48"), ipBlock("10.0.0.0/8")] }] });

  assert.deepEqual(warningsOfNew(NetworkPolicy, sent), [
    'spec.egress[0].to[0].ipBlock.cidr: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format ("2001:db8::/32")',
    'spec.egress[0].to[0].ipBlock.except[0]: IPv6 CIDR value "2001:db8:0::/48" should be in RFC 5952 canonical format ("2001:db8::/48")',
  ]);
});

test("the columns of a NetworkPolicy show its pods", () => {
  const cells = (spec: object) => NetworkPolicy.columns.map(({ value }) => value(read(NetworkPolicy, policy(spec)), 0));

  assert.deepEqual(cells({}), ["<none>", "<unknown>"]);
  assert.deepEqual(cells({ podSelector: { matchLabels: { app: "web" } } }), ["app=web", "<unknown>"]);
});

test("a range of a million slashes is refused", () => {
  const faults = faultsOf(NetworkPolicy, ingress({ from: [ipBlock("/".repeat(1_000_000))] }));

  assert.match(faults.join(), /must be a valid CIDR value/);
});
