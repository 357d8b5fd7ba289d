import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf, updateFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { Ingress } from "./ingress.ts";

const metadata = { name: "web", namespace: "default" };
const service = { name: "web", port: { number: 80 } };
const defaultBackend = { service };
const ingress = (spec: object) => ({ metadata, spec });
const withPath = (path: object) => ingress({ rules: [{ http: { paths: [{ backend: { service }, ...path }] } }] });
const at = "spec.rules[0].http.paths[0]";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const wildcard =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const cases: readonly { name: string; object: object; faults: readonly string[] }[] = [
  { name: "may have only a default backend", object: ingress({ defaultBackend }), faults: [] },
  {
    name: "takes rules of all types",
    object: ingress({
      ingressClassName: "nginx",
      tls: [{ hosts: ["a.example", "*.b.example"], secretName: "cert" }, {}],
      rules: [
        { host: "*.b.example", http: { paths: [{ path: "/", pathType: "Prefix", backend: { service } }] } },
        {
          host: "a.example",
          http: {
            paths: [
              {
                pathType: "ImplementationSpecific",
                backend: { resource: { apiGroup: "acme.io", kind: "Bucket", name: "b" } },
              },
            ],
          },
        },
        {},
      ],
    }),
    faults: [],
  },
  {
    name: "leads somewhere",
    object: ingress({}),
    faults: ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"],
  },
  {
    name: "wants a backend",
    object: ingress({ defaultBackend: {} }),
    faults: ['spec.defaultBackend: Invalid value: "": resource or service backend is required'],
  },
  {
    name: "wants one backend",
    object: ingress({ defaultBackend: { service, resource: { kind: "Bucket", name: "b" } } }),
    faults: ['spec.defaultBackend: Invalid value: "": cannot set both resource and service backends'],
  },
  {
    name: "wants the name and the port of a service",
    object: ingress({ defaultBackend: { service: {} } }),
    faults: [
      "spec.defaultBackend.service.name: Required value",
      "spec.defaultBackend: Required value: port name or number is required",
    ],
  },
  {
    name: "names a port in one way",
    object: ingress({ defaultBackend: { service: { name: "web", port: { name: "http", number: 80 } } } }),
    faults: ['spec.defaultBackend: Invalid value: "": cannot set both port name & port number'],
  },
  {
    name: "wants ports that can exist",
    object: ingress({
      defaultBackend: { service: { name: "web", port: { number: 70000 } } },
      rules: [
        {
          http: {
            paths: [{ pathType: "Exact", path: "/", backend: { service: { name: "1web", port: { name: "a_b" } } } }],
          },
        },
      ],
    }),
    faults: [
      "spec.defaultBackend.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive",
      `${at}.backend.service.port.name: Invalid value: "a_b": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`,
    ],
  },
  {
    name: "wants a whole reference to a resource",
    object: ingress({ defaultBackend: { resource: { kind: "a/b", name: "" } } }),
    faults: [
      "spec.defaultBackend.resource.name: Required value",
      "spec.defaultBackend.resource.kind: Invalid value: \"a/b\": may not contain '/'",
    ],
  },
  {
    name: "wants paths in its rules",
    object: ingress({ rules: [{ http: {} }] }),
    faults: ["spec.rules[0].http.paths: Required value"],
  },
  {
    name: "says how paths are compared",
    object: withPath({ path: "/", backend: {} }),
    faults: [`${at}.pathType: Required value: pathType must be specified`],
  },
  {
    name: "knows three ways to compare paths",
    object: withPath({ path: "/", pathType: "Regex" }),
    faults: [
      `${at}.pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix"`,
    ],
  },
  {
    name: "wants absolute paths",
    object: withPath({ path: "a", pathType: "ImplementationSpecific" }),
    faults: [`${at}.path: Invalid value: "a": must be an absolute path`],
  },
  {
    name: "wants a path for a prefix",
    object: withPath({ pathType: "Prefix" }),
    faults: [`${at}.path: Invalid value: "": must be an absolute path`],
  },
  {
    name: "refuses paths that mean others",
    object: withPath({ path: "/a//b/../c%2f/.", pathType: "Exact" }),
    faults: [
      `${at}.path: Invalid value: "/a//b/../c%2f/.": must not contain '//'`,
      `${at}.path: Invalid value: "/a//b/../c%2f/.": must not contain '/../'`,
      `${at}.path: Invalid value: "/a//b/../c%2f/.": must not contain '%2f'`,
      `${at}.path: Invalid value: "/a//b/../c%2f/.": cannot end with '/.'`,
    ],
  },
  {
    name: "wants hosts that are DNS names",
    object: ingress({ rules: [{ host: "10.0.0.1" }, { host: "A" }, { host: "a.*.example" }] }),
    faults: [
      'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
      `spec.rules[1].host: Invalid value: "A": ${subdomain}`,
      `spec.rules[2].host: Invalid value: "a.*.example": ${wildcard}`,
    ],
  },
  {
    name: "checks its certificates",
    object: ingress({ defaultBackend, tls: [{ hosts: ["*"], secretName: "A" }] }),
    faults: [
      `spec.tls[0].hosts[0]: Invalid value: "*": ${wildcard}`,
      `spec.tls[0].secretName: Invalid value: "A": ${subdomain}`,
    ],
  },
  {
    name: "checks the name of its class",
    object: ingress({ defaultBackend, ingressClassName: "A" }),
    faults: [`spec.ingressClassName: Invalid value: "A": ${subdomain}`],
  },
];
for (const { name, object, faults } of cases) {
  test(`an Ingress ${name}`, () => assert.deepEqual(faultsOf(Ingress, object), faults));
}

const annotations = { "kubernetes.io/ingress.class": "old" };

test("only a new Ingress must have the same class twice", () => {
  const sent = { metadata: { ...metadata, annotations }, spec: { defaultBackend, ingressClassName: "new" } };

  assert.deepEqual(faultsOf(Ingress, sent), [
    'annotations.kubernetes.io/ingress.class: Invalid value: "old": must match `ingressClassName` when both are specified',
  ]);
  assert.deepEqual(updateFaultsOf(Ingress, sent, sent), []);
});

test("an Ingress is warned of the old annotation", () => {
  const sent = { metadata: { ...metadata, annotations }, spec: { defaultBackend } };

  assert.deepEqual(warningsOfNew(Ingress, sent), [
    `annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`,
  ]);
  assert.deepEqual(warningsOfNew(Ingress, { ...sent, spec: { ...sent.spec, ingressClassName: "old" } }), []);
});

test("the load balancer of an Ingress has real addresses", () => {
  const points = [{ ip: "10.0.0.1" }, { hostname: "lb.example" }, { ip: "010.0.0.1" }, { hostname: "10.0.0.1" }];
  const status = { loadBalancer: { ingress: points } };

  assert.deepEqual(statusFaultsOf(Ingress, { ...ingress({ defaultBackend }), status }, ingress({ defaultBackend })), [
    'status.loadBalancer.ingress[2].ip: Invalid value: "010.0.0.1": must not have leading 0s',
    'status.loadBalancer.ingress[3].hostname: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
  ]);
});

test("a new Ingress has no load balancer", () => {
  const sent = read(Ingress, { ...ingress({}), status: { loadBalancer: { ingress: [{ ip: "10.0.0.1" }] } } });

  Ingress.prepareForCreate?.(sent);

  assert.deepEqual(sent.status, { loadBalancer: {} });
});

test("the columns of an Ingress show hosts and addresses", () => {
  const cells = (spec: object, points: readonly object[] = []) =>
    Ingress.columns.map(({ value }) =>
      value(read(Ingress, { metadata, spec, status: { loadBalancer: { ingress: points } } }), 0),
    );
  const rules = ["a", "b", "", "c", "d"].map((host) => ({ host }));

  assert.deepEqual(cells({ defaultBackend }), ["<none>", "*", "", "80", "<unknown>"]);
  assert.deepEqual(
    cells({ ingressClassName: "nginx", rules, tls: [{}] }, [
      { hostname: "lb" },
      { ip: "10.0.0.1" },
      { ip: "10.0.0.1" },
    ]),
    ["nginx", "a,b,c + 2 more...", "10.0.0.1,lb", "80, 443", "<unknown>"],
  );
  assert.equal(cells({ rules: rules.slice(0, 4) })[1], "a,b,c");
});
