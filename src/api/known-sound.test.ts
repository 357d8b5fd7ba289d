import assert from "node:assert/strict";
import { test } from "node:test";
import { arbitrary, Random } from "#testing/arbitrary.ts";
import { podFields } from "./core/pod/pod-fields.ts";
import { Pod } from "./core/pod.ts";
import { read } from "./faults.suite.ts";
import { lookAt } from "./known-sound.ts";
import { type ApiObject, type Resource } from "./resource.ts";
import { createFaults, warningsOf } from "./rules.ts";

const kind = Pod as unknown as Resource;
const container = { name: "web", image: "registry.example/web:1" };
const pod = (metadata: ApiObject["metadata"], spec: object = {}): ApiObject =>
  read(kind, { metadata: { namespace: "default", ...metadata }, spec: { containers: [container], ...spec } });

/** The faults and warnings of the rules that are skipped for an object that is known to be sound. */
const findings = (object: ApiObject): readonly string[] => [
  ...createFaults(kind, object)
    .filter(({ path }) => !path.startsWith("metadata.") || path.startsWith("metadata.annotations[container."))
    .map(({ path, message }) => `${path}: ${message}`),
  ...warningsOf(kind, object, undefined),
];

for (let seed = 1; seed <= 60; seed++) {
  test(`pods that look the same have the same faults and warnings (seed ${seed})`, () => {
    const random = new Random(seed);
    const spec = arbitrary(podFields.spec.schema, random) as { volumes?: { ephemeral?: unknown }[] };
    for (const volume of spec.volumes ?? []) delete volume.ephemeral;
    const annotations = { "container.apparmor.security.beta.kubernetes.io/web": "runtime/default" };
    const first = read(kind, { metadata: { name: "web", annotations }, spec });
    const owners = [{ apiVersion: "v1", kind: "Node", name: "n1", uid: "7" }];
    const metadata = { name: `${"long-".repeat(11)}name`, labels: { a: "b" }, ownerReferences: owners };
    const second = read(kind, { metadata: { ...metadata, annotations }, spec: structuredClone(spec) });

    const looks = [first, second].map((object) => kind.rulesLookAt?.(object));

    assert.ok(looks[0]);
    assert.deepEqual(looks[0], looks[1]);
    assert.deepEqual(findings(second), findings(first));
  });
}

test("the name that the server makes up for the volume of a token makes no difference", () => {
  const made = (name: string, volume: string): ApiObject => {
    const mounts = [{ name: volume, mountPath: "/var/run/secrets" }];
    const sources = [{ serviceAccountToken: { path: "token" } }];
    const volumes = [{ name: volume, projected: { sources } }];
    const containers = [{ ...container, volumeMounts: mounts }];
    return pod({ name }, { containers, volumes, serviceAccountName: "default" });
  };
  assert.deepEqual(findings(made("a", "kube-api-access-b2x4z")), []);

  lookAt(kind, made("a", "kube-api-access-b2x4z"))?.remember();

  assert.equal(lookAt(kind, made("b", "kube-api-access-9f7cd"))?.isKnown, true);
  assert.equal(lookAt(kind, made("b", "kube-api-access-9f7cD"))?.isKnown, false);
});

test("a user who knows what stands for that name gains nothing", () => {
  const sound = { name: "kube-api-access-b2x4z", emptyDir: {} };
  const mounted = (name: string) => [{ ...container, volumeMounts: [{ name, mountPath: "/token" }] }];
  lookAt(kind, pod({ name: "a" }, { containers: mounted(sound.name), volumes: [sound] }))?.remember();
  const elsewhere = pod({ name: "b" }, { containers: mounted("kube-api-access-?????"), volumes: [sound] });
  const alone = pod({ name: "b" }, { volumes: [{ ...sound, name: "kube-api-access-?????" }] });

  for (const hostile of [elsewhere, alone]) {
    assert.notDeepEqual(findings(hostile), []);
    assert.equal(lookAt(kind, hostile), undefined);
  }
});

test("an annotation about a container that is named like the volume of a token is looked at", () => {
  const profile = "container.apparmor.security.beta.kubernetes.io/kube-api-access-aaaaa";
  const made = (name: string): ApiObject => {
    const volumes = [{ name, emptyDir: {} }];
    const annotations = { [profile]: "runtime/default" };
    return pod({ name: "a", annotations }, { containers: [{ ...container, name }], volumes });
  };
  const [sound, faulty] = [made("kube-api-access-aaaaa"), made("kube-api-access-bbbbb")];
  assert.match(findings(faulty).join(), /container not found/);

  lookAt(kind, sound)?.remember();

  assert.equal(lookAt(kind, sound)?.isKnown, true);
  assert.equal(lookAt(kind, faulty)?.isKnown, false);
});

test("an object is known once an equal one was remembered", () => {
  const first = lookAt(kind, pod({ name: "a" }, { hostname: "known" }));
  assert.equal(first?.isKnown, false);
  assert.equal(lookAt(kind, pod({ name: "b" }, { hostname: "known" }))?.isKnown, false);

  first?.remember();

  assert.equal(lookAt(kind, pod({ name: "b", labels: { a: "b" } }, { hostname: "known" }))?.isKnown, true);
  assert.equal(lookAt(kind, pod({ name: "b" }, { hostname: "other" }))?.isKnown, false);
  assert.equal(lookAt(kind, pod({ name: "b", annotations: { a: "b" } }, { hostname: "known" }))?.isKnown, false);
});

test("an object is not known if it has a fault beside its spec", () => {
  lookAt(kind, pod({ name: "a" }, { hostname: "beside" }))?.remember();
  const faulty = pod({ name: "b" }, { hostname: "beside" });
  Object.assign(faulty, { status: { phase: "Nonsense" } });

  assert.equal(createFaults(kind, faulty).length, 1);
  assert.equal(lookAt(kind, faulty)?.isKnown, false);
});

for (const { name, object } of [
  { name: "a pod whose name causes a warning", object: pod({ name: "a.b" }) },
  {
    name: "a pod whose claims are named after it",
    object: pod({ name: "a" }, { volumes: [{ name: "v", ephemeral: {} }] }),
  },
]) {
  test(`${name} is always looked at`, () => assert.equal(lookAt(kind, object), undefined));
}

test("a long spec is never remembered", () => {
  const long = pod({ name: "a" }, { hostname: "x".repeat(9000) });
  lookAt(kind, long)?.remember();

  assert.equal(lookAt(kind, long)?.isKnown, false);
});

test("many different specs push one another out", () => {
  const numbered = (n: number) => lookAt(kind, pod({ name: "a" }, { hostname: `many-${n}` }));
  for (let n = 0; n < 1000; n++) numbered(n)?.remember();

  assert.equal(numbered(0)?.isKnown, false);
  assert.equal(numbered(999)?.isKnown, true);
});
