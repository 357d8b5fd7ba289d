import assert from "node:assert/strict";
import { test } from "node:test";
import { DaemonSet } from "#api/apps/daemon-set.ts";
import { Deployment } from "#api/apps/deployment.ts";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { CronJob } from "#api/batch/cron-job.ts";
import { Job } from "#api/batch/job.ts";
import { Namespace } from "#api/core/namespace.ts";
import { aPod } from "#api/core/pod/testing-pod.ts";
import { Pod } from "#api/core/pod.ts";
import { PodTemplate } from "#api/core/pod-template.ts";
import { ReplicationController } from "#api/core/replication-controller.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { requestFor } from "../admission.suite.ts";
import { createAdmission } from "../chain.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { defaultPodSecurity, type Exemptions } from "./config.ts";
import { labelPrefix } from "./levels.ts";
import { podSecurity } from "./pod-security.ts";

type Labels = Record<string, string>;
const prefixed = (labels: Labels): Labels =>
  Object.fromEntries(Object.entries(labels).map(([name, value]) => [labelPrefix + name, value]));

/** The plugin with one namespace, and what it says about a request. */
function setUp(labels: Labels = {}, exempt: Partial<Record<keyof Exemptions, string[]>> = {}) {
  const informers = createFakeInformers();
  const clock = createVirtualClock();
  const exemptions = {
    usernames: new Set(exempt.usernames),
    namespaces: new Set(exempt.namespaces),
    runtimeClasses: new Set(exempt.runtimeClasses),
  };
  const config = { ...defaultPodSecurity, exemptions };
  const admission = createAdmission([podSecurity({ informers, clock, podSecurity: config })]);
  const shop = { metadata: { name: "shop", labels: prefixed(labels) } };
  informers.put(Namespace, shop);
  const admit = async <T extends ApiObject>(
    resource: Resource<T>,
    object: ApiObject,
    part: Partial<AdmissionRequest> = {},
  ) => {
    const warnings: string[] = [];
    const notes: Labels = {};
    const request = {
      ...requestFor(resource, undefined, part),
      object,
      name: object.metadata.name ?? "",
      warn: (text: string) => void warnings.push(text),
      annotate(key: string, value: string) {
        notes[key.replace(labelPrefix, "")] = value;
      },
    };
    const refused = await Promise.try(() => admission.validate(request)).then(
      () => "",
      (error: Error) => error.message,
    );
    return { refused, warnings, notes };
  };
  const relabel = (to: Labels, from = labels) => {
    const named = (labels: Labels) => ({ metadata: { name: "shop", labels: prefixed(labels) } }) as Namespace;
    return admit(Namespace, named(to), { operation: "UPDATE", oldObject: named(from), namespace: "" });
  };
  return { informers, clock, admit, relabel };
}

const privileged = { securityContext: { privileged: true } };
const violation = 'privileged (container "web" must not set securityContext.privileged=true)';
const refusal = `pods "web" is forbidden: violates PodSecurity "baseline:latest": ${violation}`;

test("a pod that violates what its namespace enforces is refused, also by its audit event", async () => {
  const { admit } = setUp({ enforce: "baseline", audit: "baseline" });
  assert.deepEqual(await admit(Pod, aPod({}, privileged)), {
    refused: refusal,
    warnings: [],
    notes: {
      "enforce-policy": "baseline:latest",
      "audit-violations": `would violate PodSecurity "baseline:latest": ${violation}`,
    },
  });
  assert.deepEqual(await admit(Pod, aPod()), {
    refused: "",
    warnings: [],
    notes: { "enforce-policy": "baseline:latest" },
  });
});

test("a pod that violates only what its namespace warns of is accepted with a warning", async () => {
  const { admit } = setUp({ warn: "baseline", "warn-version": "v1.20" });
  const { refused, warnings } = await admit(Pod, aPod({}, privileged));
  assert.equal(refused, "");
  assert.deepEqual(warnings, [`would violate PodSecurity "baseline:v1.20": ${violation}`]);
});

test("a namespace without labels allows everything", async () => {
  assert.deepEqual(await setUp().admit(Pod, aPod({}, privileged)), {
    refused: "",
    warnings: [],
    notes: { "enforce-policy": "privileged:latest" },
  });
});

test("labels that cannot be read enforce the restricted level", async () => {
  const { refused, notes } = await setUp({ enforce: "typo" }).admit(Pod, aPod());
  assert.match(refused, /^pods "web" is forbidden: violates PodSecurity "restricted:latest": /);
  assert.match(notes.error ?? "", /^Failed to parse policy: metadata\.labels\[.*enforce\]: Invalid value: "typo"/);
});

test("a pod of a namespace that nobody knows is refused", async () => {
  const { admit } = setUp();
  const { refused } = await admit(Pod, aPod(), { namespace: "lost" });
  assert.equal(refused, 'Internal error occurred: failed to lookup namespace "lost"');
});

const template = { metadata: {}, spec: aPod({}, privileged).spec };
const holders: readonly (readonly [Resource, object])[] = [
  [PodTemplate, { template }],
  [ReplicationController, { spec: { template } }],
  [ReplicaSet, { spec: { template } }],
  [Deployment, { spec: { template } }],
  [StatefulSet, { spec: { template } }],
  [DaemonSet, { spec: { template } }],
  [Job, { spec: { template } }],
  [CronJob, { spec: { jobTemplate: { spec: { template } } } }],
];
for (const [resource, fields] of holders) {
  const object = { apiVersion: "", kind: resource.kind, metadata: { name: "web" }, ...fields };
  test(`a ${resource.kind} is accepted with a warning about its template`, async () => {
    const { admit } = setUp({ enforce: "baseline", audit: "baseline" });
    assert.deepEqual(await admit(resource, object), {
      refused: "",
      warnings: [`would violate PodSecurity "baseline:latest": ${violation}`],
      notes: { "audit-violations": `would violate PodSecurity "baseline:latest": ${violation}` },
    });
    const update = { operation: "UPDATE", oldObject: object } as const;
    assert.equal((await admit(resource, object, update)).warnings.length, 1);
    assert.deepEqual((await admit(resource, object, { ...update, subresource: "status" })).warnings, []);
  });
}

test("a controller without a template gets no warning", async () => {
  const object = { apiVersion: "v1", kind: "ReplicationController", metadata: { name: "web" }, spec: {} };
  assert.deepEqual((await setUp({ enforce: "restricted" }).admit(ReplicationController, object)).warnings, []);
});

const updates: readonly { name: string; now: Pod; subresource?: string; refused: boolean }[] = [
  { name: "labels", now: aPod({}, privileged, { labels: { a: "b" } }), refused: false },
  { name: "the image", now: aPod({}, { ...privileged, image: "nginx:2" }), refused: true },
  { name: "an init container", now: aPod({ initContainers: [{ name: "i" }] }, privileged), refused: true },
  {
    name: "a debug container",
    now: aPod({ ephemeralContainers: [{ name: "e" }] }, privileged),
    subresource: "ephemeralcontainers",
    refused: true,
  },
  { name: "resources", now: aPod({}, privileged), subresource: "resize", refused: false },
  { name: "the status", now: aPod({}, { ...privileged, image: "nginx:2" }), subresource: "status", refused: false },
  { name: "the node", now: aPod({ nodeName: "a" }, privileged), subresource: "binding", refused: false },
];
for (const { name, now, subresource = "", refused } of updates) {
  test(`a change of ${name} of a pod is ${refused ? "checked" : "not checked"}`, async () => {
    const { admit } = setUp({ enforce: "baseline" });
    const part = { operation: "UPDATE", oldObject: aPod({}, privileged), subresource } as const;
    assert.equal((await admit(Pod, now, part)).refused, refused ? refusal : "");
  });
}

test("users, namespaces and runtime classes can be exempt", async () => {
  const pod = aPod({ runtimeClassName: "kata" }, privileged);
  const strict = { enforce: "baseline", warn: "baseline" };
  const outcome = async (exempt: Parameters<typeof setUp>[1]) => {
    const { refused, warnings, notes } = await setUp(strict, exempt).admit(Pod, pod);
    assert.deepEqual(warnings, []);
    return refused || notes.exempt;
  };
  assert.equal(await outcome({ usernames: ["jane"] }), "user");
  assert.equal(await outcome({ namespaces: ["shop"] }), "namespace");
  assert.equal(await outcome({ runtimeClasses: ["kata"] }), "runtimeClass");
  assert.equal(await outcome({ usernames: ["joe"], namespaces: ["home"], runtimeClasses: ["runc"] }), refusal);
});

test("labels of a namespace that cannot be read are refused, unless they were there before", async () => {
  const { admit, relabel } = setUp();
  const path = "metadata.labels[pod-security.kubernetes.io/enforce]";
  const refused = `Namespace "shop" is invalid: ${path}: Invalid value: "top": must be one of privileged, baseline, restricted`;
  const created = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "shop", labels: prefixed({ enforce: "top" }) },
  };
  assert.equal((await admit(Namespace, created, { namespace: "" })).refused, refused);
  assert.equal((await relabel({ enforce: "top" })).refused, refused);
  assert.equal((await relabel({ enforce: "top" }, { enforce: "top" })).refused, "");
});

test("a stricter level warns of the pods that violate it", async () => {
  const { informers, relabel } = setUp();
  const owner = (name: string) => [{ apiVersion: "v1", kind: "X", name, uid: name, controller: true }];
  for (const name of ["b", "a", "c"]) informers.put(Pod, aPod({}, privileged, { name, namespace: "shop" }));
  const metadata = { name: "d", namespace: "shop", ownerReferences: owner("rs") };
  informers.put(Pod, aPod({ hostNetwork: true }, {}, metadata));
  informers.put(Pod, aPod({ hostNetwork: true }, {}, { ...metadata, name: "e" }));
  informers.put(Pod, aPod({}, privileged, { name: "other", namespace: "home" }));
  const head = 'existing pods in namespace "shop" violate the new PodSecurity enforce level';
  assert.deepEqual((await relabel({ enforce: "baseline" })).warnings, [
    `${head} "baseline:latest"`,
    "a (and 2 other pods): privileged",
    "d (and 1 other pod): host namespaces",
  ]);
  const [first] = (await relabel({ enforce: "baseline", "enforce-version": "v1.1" }, { enforce: "baseline" })).warnings;
  assert.equal(first, `${head} "baseline:v1.1"`);
  for (const [to, from] of [
    [{ enforce: "baseline" }, { enforce: "restricted" }],
    [{ enforce: "privileged", "enforce-version": "v1.1" }, { enforce: "baseline" }],
    [{ enforce: "baseline", audit: "restricted" }, { enforce: "baseline" }],
  ] as const) {
    assert.deepEqual((await relabel(to, from)).warnings, []);
  }
});

test("only the first 3,000 pods are checked, different ones first", async () => {
  const { informers, relabel } = setUp();
  const ownerReferences = [{ apiVersion: "v1", kind: "X", name: "x", uid: "x", controller: true }];
  const { spec } = aPod();
  for (let n = 0; n < 3005; n++) {
    informers.put(Pod, { metadata: { name: `p${n}`, namespace: "shop", ownerReferences }, spec });
  }
  informers.put(Pod, aPod({}, privileged, { name: "single", namespace: "shop" }));
  assert.deepEqual((await relabel({ enforce: "baseline" })).warnings, [
    "new PodSecurity enforce level only checked against the first 3000 of 3006 existing pods",
    'existing pods in namespace "shop" violate the new PodSecurity enforce level "baseline:latest"',
    "single: privileged",
  ]);
});

test("labels of an exempt namespace have no effect, and its author is told", async () => {
  const { relabel } = setUp({}, { namespaces: ["shop"] });
  assert.deepEqual((await relabel({ enforce: "baseline", warn: "restricted" })).warnings, [
    'namespace "shop" is exempt from Pod Security, and the policy (enforce=baseline:latest, warn=restricted:latest) will be ignored',
  ]);
});

test("a pod with very many containers is checked in turns", async () => {
  const containers = Array.from({ length: 2000 }, (_, n) => ({ name: `c${n}`, image: "a:1" }));
  const { admit } = setUp({ enforce: "restricted" });
  const pending = admit(Pod, aPod({ containers }));
  const { refused } = await pending;
  assert.match(refused, /allowPrivilegeEscalation != false \(containers "c0", .* and 1900 more must set/);
  assert(refused.length < 10_000);
});
