import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "#api/resource.ts";
import { seededRandom } from "#lib/data/random.ts";
import { chooseStage, possibleStages, randomPerName } from "./choose-stage.ts";
import { planStep } from "./plan-steps.ts";
import { PodAddresses } from "./pod-addresses.ts";
import { readStage } from "./read-stage.ts";
import { readStages } from "./read-stages.ts";
import type { StageScope } from "./stage-functions.ts";

const stage = (spec: object, name = "s") =>
  readStage(
    {
      apiVersion: "kwok.x-k8s.io/v1alpha1",
      kind: "Stage",
      metadata: { name },
      spec: { resourceRef: { kind: "Pod" }, selector: {}, ...spec },
    },
    "the stage",
  );

const object = (metadata: object, more: object = {}): ApiObject => ({ metadata: { name: "x", ...metadata }, ...more });

test("a selector compares labels, annotations and the values of expressions", () => {
  const pod = object(
    { labels: { app: "web" }, annotations: { a: "b" } },
    { status: { phase: "Running", count: 3, ok: true, list: [{ kind: "Job" }] } },
  );
  const match = (key: string, operator: string, values?: string[]) => ({
    key,
    operator,
    ...(values ? { values } : {}),
  });
  const table: readonly (readonly [selector: object, matches: boolean])[] = [
    [{}, true],
    [{ matchLabels: { app: "web" }, matchAnnotations: { a: "b" } }, true],
    [{ matchLabels: { app: "db" } }, false],
    [{ matchAnnotations: { constructor: "b" } }, false],
    [{ matchExpressions: [match(".status.phase", "In", ["Pending", "Running"])] }, true],
    [{ matchExpressions: [match(".status.phase", "NotIn", ["Running"])] }, false],
    [{ matchExpressions: [match(".status.count", "In", ["3"]), match(".status.ok", "In", ["true"])] }, true],
    [{ matchExpressions: [match(".status.nope", "NotIn", ["x"])] }, true],
    [{ matchExpressions: [match(".status.list.[].kind", "In", ["Job"])] }, true],
    [{ matchExpressions: [match(".status.nope", "Exists")] }, false],
    [{ matchExpressions: [match(".status.phase.x", "DoesNotExist")] }, true],
    [{ matchExpressions: [match(".status", "Exists")] }, true],
    [{ matchExpressions: [{ jq: match(".status.phase", "In", ["Running"]) }] }, true],
    [{ matchExpressions: [{ cel: { expression: "self.status.phase == 'Running'" } }] }, true],
    [{ matchExpressions: [{ cel: { expression: "self.status.nope == 'Running'" } }] }, false],
  ];
  for (const [selector, matches] of table) {
    assert.equal(stage({ selector }).isFor(pod), matches, JSON.stringify(selector));
  }
});

test("an object that takes an expression too long takes no stage", () => {
  const selector = { matchExpressions: [{ key: ".spec.list[] | .[] | .a", operator: "DoesNotExist" }] };
  const list = Array.from({ length: 200 }, () => Array.from({ length: 200 }, () => ({})));
  assert.throws(
    () => stage({ selector }).isFor(object({}, { spec: { list } })),
    /^StageFault: Stage "s": spec\.selector\.matchExpressions\[0\]\.key takes too many steps$/,
  );
});

test("a delay lies between its two times, which the object may say", () => {
  const nowMs = Date.parse("2026-01-01T00:00:00Z");
  const due = (delay: object, annotations: Record<string, string> = {}, random = 0.5): number | undefined => {
    const choice = chooseStage([stage({ delay })], object({ annotations }), { nowMs, random: () => random });
    return choice && choice.dueMs - nowMs;
  };
  const from = (key: string) => ({ expressionFrom: `.metadata.annotations["${key}"]` });
  assert.equal(due({}), 0);
  assert.equal(due({ durationMilliseconds: 1000 }), 1000);
  assert.equal(due({ durationMilliseconds: 1000, jitterDurationMilliseconds: 5000 }), 3000);
  assert.equal(due({ durationMilliseconds: 1000, jitterDurationMilliseconds: 500 }), 500);
  assert.equal(due({ durationMilliseconds: 1000, durationFrom: from("d") }, { d: "1m30s" }), 90_000);
  assert.equal(due({ durationMilliseconds: 1000, durationFrom: from("d") }, { d: "nonsense" }), 1000);
  assert.equal(due({ durationMilliseconds: 1000, durationFrom: from("d") }, { d: "" }), 0);
  assert.equal(due({ durationFrom: from("d") }, { d: "2026-01-01T00:00:07Z" }), 7000);
  assert.equal(due({ durationFrom: from("d") }, { d: "2020-01-01T00:00:07Z" }), 0, "a time in the past is now");
  assert.equal(due({ jitterDurationFrom: from("d") }, { d: "2026-01-01T00:00:10Z" }), 5000);
  assert.equal(due({ durationFrom: { cel: { expression: "duration('4s')" } } }), 4000);
});

test("stages are taken by their weights", () => {
  const weights = (specs: readonly object[], annotations: Record<string, string> = {}) =>
    possibleStages(
      specs.map((spec, index) => stage(spec, `s${index}`)),
      object({ annotations }),
    ).map((one) => `${one.stage.name}:${one.weight}`);
  const from = { expressionFrom: ".metadata.annotations.w" };
  assert.deepEqual(weights([{ weight: 0 }]), ["s0:1"]);
  assert.deepEqual(weights([{ weight: 0 }, {}]), ["s0:1", "s1:1"]);
  assert.deepEqual(weights([{ weight: 0 }, { weight: 3 }, { weight: 1 }]), ["s1:3", "s2:1"]);
  assert.deepEqual(weights([{ weight: 2 }, { weightFrom: from }], { w: "7" }), ["s0:2", "s1:7"]);
  assert.deepEqual(weights([{}, { weight: 4, weightFrom: from }], { w: "much" }), ["s0:1"]);
  assert.deepEqual(weights([{ weight: 5, weightFrom: from }, { weight: 2 }]), ["s0:5", "s1:2"]);

  const both = [stage({ weight: 1 }, "a"), stage({ weight: 3 }, "b")];
  const random = seededRandom(1);
  const taken = Array.from({ length: 400 }, () => chooseStage(both, object({}), { nowMs: 0, random })?.stage.name);
  const share = taken.filter((name) => name === "b").length / taken.length;
  assert(share > 0.65 && share < 0.85, `${share} instead of three quarters`);
  const perName = randomPerName(seededRandom(5));
  assert.equal(perName("a")(), perName("a")());
  assert.notEqual(perName("a")(), perName("b")());
});

const scope: StageScope = {
  now: "2026-01-01T00:00:00.000Z",
  startTime: "",
  version: "v1",
  nodeName: "node-1",
  nodePort: 10_250,
  uid: "u",
  nodeIPs: (name) => (name === "node-1" ? ["172.16.0.1"] : []),
  podIPs: ({ uid, isOnHost }) => [isOnHost ? "172.16.0.1" : `ip-of-${uid}`],
};

const effectsOf = async (spec: object, of: ApiObject) => {
  const effects: unknown[] = [];
  for (const step of stage(spec).steps) effects.push(await planStep(step, { object: of, latest: of }, scope));
  return effects;
};

test("steps become events, patches, applied objects and deletions", async () => {
  const pod = object(
    { finalizers: ["a", "b"], resourceVersion: "7", uid: "u" },
    { spec: { nodeName: "node-1", n: 3 } },
  );
  const next = {
    event: { reason: "R" },
    finalizers: { remove: [{ value: "a" }], add: [{ value: "c" }] },
    statusTemplate:
      "own: {{ PodIP }}\nip: {{ PodIPWith .spec.nodeName false .metadata.uid `` `` | Quote }}\ncount: {{ .spec.n }}\nq: {{ .spec.n | Quote }}",
    delete: true,
  };
  const way = { subresource: undefined, as: undefined };
  assert.deepEqual(await effectsOf({ next }, pod), [
    { type: "event", event: { type: "Normal", reason: "R", message: "" } },
    {
      type: "patch",
      patch: { type: "merge", body: { metadata: { resourceVersion: "7", finalizers: ["b", "c"] } } },
      ...way,
    },
    {
      type: "patch",
      patch: { type: "strategic", body: { status: { own: "ip-of-u", ip: "ip-of-u", count: 3, q: "3" } } },
      subresource: "status",
      as: undefined,
    },
    { type: "delete" },
  ]);
  const steps = [
    { finalizers: { empty: true } },
    { finalizers: { remove: [{ value: "z" }] } },
    {
      patch: {
        type: "json",
        root: "a/b",
        template: "[{op: add, path: /x, value: 1}]",
        impersonation: { username: "bob" },
      },
    },
    { apply: { type: "merge", template: "{apiVersion: v1, kind: Secret, metadata: {name: s}}" } },
  ];
  assert.deepEqual(await effectsOf({ steps }, pod), [
    { type: "patch", patch: { type: "merge", body: { metadata: { resourceVersion: "7", finalizers: null } } }, ...way },
    undefined,
    {
      type: "patch",
      patch: { type: "json", body: [{ op: "add", value: 1, path: "/a~1b/x" }] },
      subresource: undefined,
      as: "bob",
    },
    { type: "apply", how: "merge", object: { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } }, ...way },
  ]);
});

test("a value of an object stays within its quotes", async () => {
  const hostile = object({ labels: { a: 'x"\nphase: Failed\nother: {{ fail }}' } });
  const [effect] = await effectsOf({ next: { statusTemplate: "reason: {{ .metadata.labels.a | Quote }}" } }, hostile);
  assert.deepEqual((effect as { patch: { body: unknown } }).patch.body, {
    status: { reason: hostile.metadata.labels?.a },
  });
});

test("a stage that makes no sense is refused with the place of the fault", () => {
  const faults: readonly (readonly [spec: object, message: RegExp])[] = [
    [{ selector: undefined }, /^Error: Stage "s": spec\.selector is needed/],
    [{ selektor: {} }, /^Error: Stage "s": spec has no field "selektor"/],
    [{ resourceRef: {} }, /spec\.resourceRef\.kind must be a string/],
    [
      { selector: { matchExpressions: [{ key: ".a", operator: "Is" }] } },
      /matchExpressions\[0\]\.operator must be one of In,/,
    ],
    [
      { selector: { matchExpressions: [{ key: ".a", operator: "In" }] } },
      /\[0\]\.values must not be empty with the operator In/,
    ],
    [{ selector: { matchExpressions: [{ key: ".a", operator: "Exists", values: ["x"] }] } }, /values must be empty/],
    [
      { selector: { matchExpressions: [{ key: ".a |= 1", operator: "Exists" }] } },
      /\[0\]\.key: uses "\|=" at character 4/,
    ],
    [{ selector: { matchExpressions: [{ cel: { expression: "self." } }] } }, /\[0\]\.cel\.expression: ERROR/],
    [{ weight: -1 }, /spec\.weight must be a whole number/],
    [{ weightFrom: {} }, /spec\.weightFrom needs one of expressionFrom, jq and cel/],
    [{ delay: { durationMs: 3 } }, /spec\.delay has no field "durationMs"/],
    [{ delay: { durationMilliseconds: "3" } }, /spec\.delay\.durationMilliseconds must be a whole number/],
    [{ immediateNextStage: "yes" }, /spec\.immediateNextStage must be true or false/],
    [{ next: {}, steps: [] }, /spec has both next and steps/],
    [
      { next: { statusTemplate: "a: {{ nope }}" } },
      /spec\.next\.statusTemplate: line 1, column 7: function "nope" is not supported/,
    ],
    [{ next: { statusTemplate: "a: {{ NodePort }}" } }, /function "NodePort" is not supported/],
    [{ next: { event: { type: "Odd" } } }, /spec\.next\.event\.type must be one of Normal, Warning/],
    [{ next: { finalizers: { add: ["x"] } } }, /finalizers\.add\[0\] must be an object/],
    [
      { next: { patches: [{ template: "a: 1", type: "apply" }] } },
      /patches\[0\]\.type must be one of json, merge, strategic/,
    ],
    [{ steps: [{ delete: true, patch: { template: "" } }] }, /steps\[0\] deletes the object and changes it/],
    [
      { steps: [{ apply: { template: "{{ end }}" } }] },
      /steps\[0\]\.apply\.template: line 1, column 1: unexpected end/,
    ],
  ];
  for (const [spec, message] of faults) assert.throws(() => stage(spec), message);
});

test("stages are read from texts and objects, each name once, for kinds that exist", async () => {
  const text = (name: string, kind = "Pod") =>
    `apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: ${name}}\nspec: {resourceRef: {kind: ${kind}}, selector: {}}\n`;
  const stages = await readStages([
    `# a comment\n---\n${text("a")}---\n${text("b")}`,
    {
      apiVersion: "kwok.x-k8s.io/v1alpha1",
      kind: "Stage",
      metadata: { name: "c" },
      spec: { resourceRef: { kind: "Node" }, selector: {} },
    },
  ]);
  assert.deepEqual(
    stages.map(({ name, kind }) => `${name} ${kind}`),
    ["a Pod", "b Pod", "c Node"],
  );
  await assert.rejects(readStages([text("a"), text("a")]), /two stages with the name "a"/);
  await assert.rejects(readStages(text("a", "Pdo")), /Stage "a": spec.resourceRef: there is no kind Pdo in "v1"/);
  await assert.rejects(readStages(`${text("a")}---\na: [`), /^Error: document 2: yaml: line/);
});

test("a pod keeps its address until it is gone, and a range ends", () => {
  const addresses = new PodAddresses();
  assert.equal(addresses.take("a", "10.0.0.0/29", undefined), "10.0.0.2");
  assert.equal(addresses.take("b", "10.0.0.0/29", "10.0.0.3"), "10.0.0.3");
  assert.equal(addresses.take("c", "10.0.0.0/29", undefined), "10.0.0.4");
  assert.equal(addresses.take("a", "10.0.0.0/29", undefined), "10.0.0.2");
  addresses.release("a");
  assert.equal(addresses.take("d", "10.0.0.0/29", undefined), "10.0.0.2");
  for (const uid of ["e", "f", "g"]) addresses.take(uid, "10.0.0.0/29", undefined);
  assert.equal(addresses.take("h", "10.0.0.0/29", undefined), undefined);
  assert.equal(addresses.take("i", "nonsense", undefined), undefined);
});
