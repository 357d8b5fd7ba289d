import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf } from "../faults.suite.ts";
import { IngressClass } from "./ingress-class.ts";

const metadata = { name: "nginx" };
const controller = "acme.io/ingress";
const withParameters = (parameters: object) => ({ metadata, spec: { controller, parameters } });

const cases: readonly { name: string; object: object; faults: readonly string[] }[] = [
  { name: "needs only a controller", object: { metadata, spec: { controller } }, faults: [] },
  {
    name: "takes parameters of the cluster",
    object: withParameters({ apiGroup: "acme.io", kind: "Settings", name: "a" }),
    faults: [],
  },
  {
    name: "takes parameters of a namespace",
    object: withParameters({ kind: "ConfigMap", name: "a", scope: "Namespace", namespace: "default" }),
    faults: [],
  },
  {
    name: "has no empty scope",
    object: withParameters({ kind: "ConfigMap", name: "a", scope: "" }),
    faults: ['spec.parameters.scope: Unsupported value: "": supported values: "Cluster", "Namespace"'],
  },
  { name: "wants a controller", object: { metadata, spec: {} }, faults: ["spec.controller: Required value"] },
  {
    name: "wants a controller with a domain",
    object: { metadata, spec: { controller: "ingress" } },
    faults: ['spec.controller: Invalid value: "ingress": must be a domain-prefixed path (such as "acme.io/foo")'],
  },
  {
    name: "checks the path of its controller",
    object: { metadata, spec: { controller: "acme.io/in gress" } },
    faults: [
      "spec.controller: Invalid value: \"in gress\": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
    ],
  },
  {
    name: "limits the length of its controller",
    object: { metadata, spec: { controller: `acme.io/${"a".repeat(243)}` } },
    faults: ["spec.controller: Too long: may not be more than 250 bytes"],
  },
  {
    name: "wants the kind and the name of its parameters",
    object: withParameters({ name: "a/b" }),
    faults: [
      "spec.parameters.kind: Required value",
      "spec.parameters.name: Invalid value: \"a/b\": may not contain '/'",
    ],
  },
  {
    name: "knows two scopes",
    object: withParameters({ kind: "A", name: "a", scope: "World" }),
    faults: ['spec.parameters.scope: Unsupported value: "World": supported values: "Cluster", "Namespace"'],
  },
  {
    name: "wants the namespace of its parameters",
    object: withParameters({ kind: "A", name: "a", scope: "Namespace" }),
    faults: ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
  },
  {
    name: "has no namespace for parameters of the cluster",
    object: withParameters({ kind: "A", name: "a", namespace: "default" }),
    faults: ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
  },
];
for (const { name, object, faults } of cases) {
  test(`an IngressClass ${name}`, () => assert.deepEqual(faultsOf(IngressClass, object), faults));
}

test("an IngressClass keeps its controller", () => {
  const sent = { metadata, spec: { controller: "other" } };

  assert.deepEqual(updateFaultsOf(IngressClass, sent, { metadata, spec: { controller } }), [
    'spec.controller: Invalid value: "other": field is immutable',
    'spec.controller: Invalid value: "other": must be a domain-prefixed path (such as "acme.io/foo")',
  ]);
});

test("the columns of an IngressClass show the default and the parameters", () => {
  const cells = (object: object) => IngressClass.columns.map(({ value }) => value(read(IngressClass, object), 0));
  const annotations = { "ingressclass.kubernetes.io/is-default-class": "true" };

  assert.deepEqual(cells({ metadata, spec: { controller } }), ["nginx", controller, "<none>", "<unknown>"]);
  assert.deepEqual(
    cells({
      metadata: { ...metadata, annotations },
      spec: { controller, parameters: { apiGroup: "acme.io", kind: "Settings", name: "a" } },
    }),
    ["nginx (default)", controller, "Settings.acme.io/a", "<unknown>"],
  );
});
