import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf, updateFaultsOf } from "../faults.suite.ts";
import { Service } from "./service.ts";

const metadata = { name: "web", namespace: "default" };
const ports = [{ port: 80 }];

test("a Service gets its defaults", () => {
  const { spec } = read(Service, { metadata, spec: { type: "LoadBalancer", sessionAffinity: "ClientIP", ports } });

  assert.deepEqual(spec, {
    type: "LoadBalancer",
    sessionAffinity: "ClientIP",
    ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 10800 } },
    externalTrafficPolicy: "Cluster",
    internalTrafficPolicy: "Cluster",
    allocateLoadBalancerNodePorts: true,
  });
});

const cases = [
  { name: "takes a plain one", spec: { ports }, faults: [] },
  { name: "takes a headless one without ports", spec: { clusterIP: "None" }, faults: [] },
  { name: "wants ports", spec: {}, faults: ["spec.ports: Required value"] },
  {
    name: "lets the health check port be allocated",
    spec: { type: "LoadBalancer", externalTrafficPolicy: "Local", ports },
    faults: [],
  },
  {
    name: "wants names where there are several ports",
    spec: { ports: [{ port: 80 }, { port: 81 }] },
    faults: ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
  },
  {
    name: "refuses ports out of range, twice the same name and twice the same port",
    spec: {
      ports: [
        { name: "a", port: 80 },
        { name: "a", port: 80, targetPort: 70000 },
      ],
    },
    faults: [
      'spec.ports[1].name: Duplicate value: "a"',
      "spec.ports[1].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
      'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
    ],
  },
  {
    name: "refuses a port of 0",
    spec: { ports: [{ port: 0, targetPort: 1 }] },
    faults: ["spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"],
  },
  {
    name: "knows its types",
    spec: { type: "Magic", ports },
    faults: [
      'spec.type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
    ],
  },
  {
    name: "has no node ports as ClusterIP",
    spec: { ports: [{ port: 80, nodePort: 30000 }] },
    faults: ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
  },
  {
    name: "wants a name as ExternalName and no addresses",
    spec: { type: "ExternalName", clusterIP: "10.0.0.1" },
    faults: [
      "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
      "spec.externalName: Required value",
    ],
  },
  {
    name: "wants an ExternalName that DNS can write",
    spec: { type: "ExternalName", externalName: `${"a".repeat(64)}.example.com` },
    faults: [`spec.externalName: Invalid value: "${"a".repeat(64)}": must be no more than 63 characters`],
  },
  {
    name: "wants an ExternalName of at most 253 characters",
    spec: { type: "ExternalName", externalName: `${"a.".repeat(127)}a` },
    faults: [`spec.externalName: Invalid value: "${"a.".repeat(127)}a": must be no more than 253 characters`],
  },
  {
    name: "cannot be headless as NodePort",
    spec: { type: "NodePort", clusterIP: "None", ports },
    faults: ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
  },
  {
    name: "refuses addresses that are none",
    spec: { clusterIP: "10.0.0.300", ports },
    faults: [
      'spec.clusterIPs[0]: Invalid value: "10.0.0.300": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
  },
  {
    name: "has at most one address of a family",
    spec: { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1", "10.0.0.2"], ports },
    faults: [
      'spec.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than one IP for each IP family',
    ],
  },
  {
    name: "has addresses of the families it names",
    spec: { clusterIP: "10.0.0.1", ipFamilies: ["IPv6"], ports },
    faults: ['spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`'],
  },
  {
    name: "keeps load balancer fields to load balancers",
    spec: { loadBalancerClass: "x/y", loadBalancerSourceRanges: ["10.0.0.0/8"], externalTrafficPolicy: "Local", ports },
    faults: [
      "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
      "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
      'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
    ],
  },
  {
    name: "knows where traffic can be sent first",
    spec: { trafficDistribution: "Near", ports },
    faults: [
      'spec.trafficDistribution: Unsupported value: "Near": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
    ],
  },
];
for (const { name, spec, faults } of cases) {
  test(`a Service ${name}`, () => assert.deepEqual(faultsOf(Service, { metadata, spec }), faults));
}

const allocated = {
  metadata,
  spec: { type: "NodePort", clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1"], ports: [{ port: 80, nodePort: 30000 }] },
};

test("what was allocated is kept when a client leaves it out", () => {
  const service = read(Service, { metadata, spec: { type: "NodePort", ports } });

  Service.prepareForUpdate?.(service, read(Service, allocated));

  assert.deepEqual(service.spec.clusterIPs, ["10.0.0.1"]);
  assert.equal(service.spec.ports?.[0]?.nodePort, 30000);
});

test("what the new type has no use for goes with the old one", () => {
  const service = read(Service, {
    ...allocated,
    spec: { ...allocated.spec, type: "ExternalName", externalName: "a.b" },
  });

  Service.prepareForUpdate?.(service, read(Service, allocated));

  assert.equal(service.spec.clusterIP, undefined);
  assert.equal(service.spec.clusterIPs, undefined);
  assert.equal(service.spec.ports?.[0]?.nodePort, undefined);
});

test("the address of a Service cannot be changed", () => {
  const changed = { metadata, spec: { type: "NodePort", clusterIP: "10.0.0.2", ports } };

  assert.deepEqual(updateFaultsOf(Service, changed, allocated), [
    'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set',
  ]);
});

test("only a load balancer has places where it takes traffic", () => {
  const status = { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } };

  assert.deepEqual(statusFaultsOf(Service, { ...allocated, status }, allocated), [
    "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
  ]);
});

test("the columns of a Service show its addresses and ports", () => {
  const cells = Service.columns.map(({ value }) => value(read(Service, allocated), 0));

  assert.deepEqual(cells, ["NodePort", "10.0.0.1", "<none>", "80:30000/TCP", "<unknown>", "<none>"]);
});

test("the source ranges in an annotation that is too long are not read", () => {
  const annotations = { "service.beta.kubernetes.io/load-balancer-source-ranges": "x,".repeat(200_000) };
  const spec = { type: "LoadBalancer", ports: [{ port: 80 }] };

  assert.deepEqual(faultsOf(Service, { metadata: { ...metadata, annotations }, spec }), [
    "metadata.annotations: Too long: may not be more than 262144 bytes",
  ]);
});
