import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Pod } from "#api/core/pod.ts";
import { Secret } from "#api/core/secret.ts";
import { Service } from "#api/core/service.ts";
import { parseEnvFile, variableIn } from "#kubelet/pod/containers/env-file.ts";
import { build } from "#testing/build.ts";
import { containerEnvironment, expand, expandAll, referencesOf } from "./environment.ts";

const metadata = { namespace: "shop", name: "settings" };
const settings = build(ConfigMap, { metadata, data: { A: "1", B: "2" } });
const login = build(Secret, { metadata, data: { password: Buffer.from("pass").toString("base64") } });
const service = (namespace: string, name: string, clusterIP: string, ports: object[]) =>
  build(Service, { metadata: { namespace, name }, spec: { clusterIP, ports } });
const services = [
  service("default", "kubernetes", "10.96.0.1", [{ name: "https", port: 443 }]),
  service("shop", "red-db", "10.96.0.7", [{ port: 5432 }, { name: "dns-udp", port: 53, protocol: "UDP" }]),
  service("shop", "headless", "None", [{ port: 80 }]),
];

function environmentOf(container: object, spec: object = {}) {
  const pod = build(Pod, {
    metadata: { namespace: "shop", name: "web", labels: { tier: "front" } },
    spec: { containers: [{ name: "main", image: "i", ...container }], ...spec },
    status: { podIP: "10.0.0.9", podIPs: [{ ip: "10.0.0.9" }], hostIP: "192.0.2.1" },
  });
  const [main] = pod.spec.containers;
  assert(main);
  return Object.fromEntries(
    containerEnvironment({
      pod,
      container: main,
      services,
      allocatable: { cpu: "4", memory: "8Gi" },
      configMap: (name) => (name === "settings" ? settings : undefined),
      secret: (name) => (name === "login" ? login : undefined),
      fileVariable: (_volume, _path, key) => variableIn(parseEnvFile("A='x'\n# note\nB='two\nlines' # end\n"), key),
    }),
  );
}

const alone = { enableServiceLinks: false };
const from = (valueFrom: object) => ({ env: [{ name: "X", valueFrom }] });
const cases = [
  { name: "a plain value", container: { env: [{ name: "X", value: "v" }] }, value: "v" },
  {
    name: "other variables, $$ as one dollar, and unknown names unchanged",
    container: {
      env: [
        { name: "Y", value: "y" },
        { name: "X", value: "$(Y)-$$(Y)-$(NO)-$Y" },
      ],
    },
    value: "y-$(Y)-$(NO)-$Y",
  },
  {
    name: "services in expansions",
    container: { env: [{ name: "X", value: "$(KUBERNETES_SERVICE_HOST)" }] },
    value: "10.96.0.1",
  },
  { name: "a field", container: from({ fieldRef: { fieldPath: "metadata.labels['tier']" } }), value: "front" },
  { name: "the pod's address", container: from({ fieldRef: { fieldPath: "status.podIP" } }), value: "10.0.0.9" },
  { name: "a resource of the node", container: from({ resourceFieldRef: { resource: "limits.cpu" } }), value: "4" },
  { name: "a key of a config map", container: from({ configMapKeyRef: { name: "settings", key: "A" } }), value: "1" },
  { name: "a key of a secret", container: from({ secretKeyRef: { name: "login", key: "password" } }), value: "pass" },
  {
    name: "a variable of a file",
    container: from({ fileKeyRef: { volumeName: "v", path: "env", key: "B" } }),
    value: "two\nlines",
  },
  {
    name: "nothing if an optional source is missing",
    container: from({ configMapKeyRef: { name: "none", key: "A", optional: true } }),
    value: undefined,
  },
  {
    name: "env before envFrom",
    container: { env: [{ name: "X", value: "own" }], envFrom: [{ prefix: "X", configMapRef: { name: "settings" } }] },
    value: "own",
  },
];
for (const { name, container, value } of cases) {
  test(`containerEnvironment() gives ${name}`, () => assert.equal(environmentOf(container, alone).X, value));
}

test("containerEnvironment() takes whole config maps and secrets, with their prefix", () => {
  const { KUBERNETES_SERVICE_HOST: _, ...env } = environmentOf(
    { envFrom: [{ prefix: "P_", configMapRef: { name: "settings" } }, { secretRef: { name: "login" } }] },
    alone,
  );

  assert.deepEqual([env.P_A, env.P_B, env.password], ["1", "2", "pass"]);
});

test("containerEnvironment() has the services of the namespace", () => {
  const env = environmentOf({});

  assert.equal(env.RED_DB_SERVICE_HOST, "10.96.0.7");
  assert.equal(env.RED_DB_SERVICE_PORT, "5432");
  assert.equal(env.RED_DB_SERVICE_PORT_DNS_UDP, "53");
  assert.equal(env.RED_DB_PORT, "tcp://10.96.0.7:5432");
  assert.equal(env.RED_DB_PORT_53_UDP_ADDR, "10.96.0.7");
  assert.equal(env.KUBERNETES_SERVICE_PORT_HTTPS, "443");
  assert.equal(env.HEADLESS_SERVICE_HOST, undefined);
  assert.equal(environmentOf({}, alone).RED_DB_SERVICE_HOST, undefined);
  assert.equal(environmentOf({}, alone).KUBERNETES_SERVICE_HOST, "10.96.0.1");
});

const faults = [
  { container: from({ configMapKeyRef: { name: "none", key: "A" } }), message: 'configmap "none" not found' },
  {
    container: from({ configMapKeyRef: { name: "settings", key: "Z" } }),
    message: "couldn't find key Z in ConfigMap shop/settings",
  },
  {
    container: from({ secretKeyRef: { name: "login", key: "Z" } }),
    message: "couldn't find key Z in Secret shop/login",
  },
  { container: { envFrom: [{ secretRef: { name: "none" } }] }, message: 'secret "none" not found' },
];
for (const { container, message } of faults) {
  test(`containerEnvironment() says ${message}`, () => assert.throws(() => environmentOf(container), { message }));
}

test("expand() returns text without references unchanged", () =>
  assert.equal(
    expand("a b", () => "x"),
    "a b",
  ));

test("referencesOf() finds the objects that must exist first", () => {
  const pod = build(Pod, {
    metadata,
    spec: {
      containers: [
        {
          name: "c",
          image: "i",
          ...from({ secretKeyRef: { name: "s", key: "k" } }),
          envFrom: [{ configMapRef: { name: "c" } }],
        },
      ],
    },
  });
  const [container] = pod.spec.containers;
  assert(container);

  assert.deepEqual(referencesOf(container), { configMaps: new Set(["c"]), secrets: new Set(["s"]) });
});

for (const text of ["A", "=x", "A ='x'", "A=x", "A='x", "A='x' y"]) {
  test(`variableIn() refuses ${JSON.stringify(text)}`, () => {
    assert.throws(() => variableIn(parseEnvFile(text), "A"), /invalid environment variable format at line 1/);
  });
}

test("variables that name each other twice do not grow without limit", () => {
  const env = Array.from({ length: 40 }, (_, at) => ({
    name: `V${at}`,
    value: at === 0 ? "x" : `$(V${at - 1})`.repeat(2),
  }));

  assert.throws(() => environmentOf({ env }), /longer than 2097152 characters/);
  const large = (name: string) => (name === "L" ? "x".repeat(100_000) : undefined);
  assert.throws(() => expandAll(Array(100).fill("$(L)"), large), /longer than 2097152 characters/);
});
