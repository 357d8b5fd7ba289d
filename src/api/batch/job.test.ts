import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { Job } from "./job.ts";

const uid = "5f2c";
const metadata = { name: "sum", namespace: "default", uid };
const container = { name: "sum", image: "sum:1" };
const podSpec = { restartPolicy: "Never", containers: [container] };
const template = { spec: podSpec };
const spec = { template };

test("a Job gets its defaults", () => {
  const { completions, parallelism, backoffLimit, ...job } = read(Job, { metadata, spec }).spec;

  assert.deepEqual([completions, parallelism, backoffLimit], [1, 1, 6]);
  assert.deepEqual([job.completionMode, job.suspend, job.manualSelector], ["NonIndexed", false, false]);
  assert.equal(job.podReplacementPolicy, "TerminatingOrFailed");
});

test("the defaults of a Job depend on what it has", () => {
  const many = read(Job, { metadata, spec: { template, parallelism: 3 } }).spec;
  const indexed = { template, completions: 4, completionMode: "Indexed", backoffLimitPerIndex: 1 };
  const rules = [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }];
  const careful = read(Job, { metadata, spec: { ...indexed, podFailurePolicy: { rules } } }).spec;

  assert.equal(many.completions, undefined);
  assert.deepEqual([careful.parallelism, careful.backoffLimit], [1, 2147483647]);
  assert.equal(careful.podReplacementPolicy, "Failed");
  assert.equal(careful.podFailurePolicy?.rules[0]?.onPodConditions?.[0]?.status, "True");
});

test("a new Job gets a selector and labels of its own", () => {
  const job = read(Job, { metadata, spec: { template: { ...template, metadata: { labels: { app: "sum" } } } } });
  Job.prepareForCreate?.(job);

  const labels = {
    "job-name": "sum",
    "batch.kubernetes.io/job-name": "sum",
    "controller-uid": uid,
    "batch.kubernetes.io/controller-uid": uid,
    app: "sum",
  };
  assert.deepEqual(job.spec.template.metadata.labels, labels);
  assert.deepEqual(job.metadata.labels, labels);
  assert.deepEqual(job.spec.selector, { matchLabels: { "batch.kubernetes.io/controller-uid": uid } });
});

test("labels that a Job has of its own are not mixed with those of its template", () => {
  const labels = { app: "sum" };
  const job = read(Job, {
    metadata: { ...metadata, labels },
    spec: { template: { ...template, metadata: { labels } } },
  });
  Job.prepareForCreate?.(job);

  assert.deepEqual(job.metadata.labels, labels);
});

test("a Job that is created under a second name has the labels of that name", () => {
  const job = read(Job, { metadata: { ...metadata, labels: { tier: "batch" } }, spec });
  Job.prepareForCreate?.(job);
  Object.assign(job.metadata, { name: "sum-2", uid: "77" });
  Job.prepareForCreate?.(job);

  assert.equal(job.spec.template.metadata.labels?.["job-name"], "sum-2");
  assert.equal(job.spec.selector?.matchLabels?.["batch.kubernetes.io/controller-uid"], "77");
  assert.deepEqual(job.metadata.labels, { tier: "batch" });
});

const indexed = { template, completionMode: "Indexed", completions: 5 };
const failurePolicy = (...rules: object[]) => ({ template, podFailurePolicy: { rules } });
const exitCodes = (codes: object) => ({ action: "FailJob", onExitCodes: { operator: "In", values: [1], ...codes } });
const successPolicy = (...rules: object[]) => ({ ...indexed, successPolicy: { rules } });
const at = "spec.podFailurePolicy.rules";

const cases: readonly { name: string; spec: object; faults: readonly string[] }[] = [
  { name: "takes a good one", spec, faults: [] },
  { name: "takes an indexed one", spec: indexed, faults: [] },
  { name: "takes a policy for failures", spec: failurePolicy(exitCodes({ containerName: "sum" })), faults: [] },
  {
    name: "takes a policy for success",
    spec: successPolicy({ succeededIndexes: "0,2-4", succeededCount: 4 }),
    faults: [],
  },
  {
    name: "refuses negative numbers",
    spec: { template, parallelism: -1, completions: -1, activeDeadlineSeconds: -1, backoffLimit: -1 },
    faults: ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"].map(
      (name) => `spec.${name}: Invalid value: -1: must be greater than or equal to 0`,
    ),
  },
  {
    name: "ends, so its pods are not restarted always",
    spec: { template: { spec: { containers: [container] } } },
    faults: ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
  },
  {
    name: "wants completions if it is indexed",
    spec: { template, completionMode: "Indexed", parallelism: 100_001 },
    faults: [
      "spec.completions: Required value: when completion mode is Indexed",
      "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed",
    ],
  },
  {
    name: "knows two completion modes",
    spec: { template, completionMode: "Random" },
    faults: ['spec.completionMode: Unsupported value: "Random": supported values: "NonIndexed", "Indexed"'],
  },
  {
    name: "does not take an empty completion mode",
    spec: { template, completionMode: "" },
    faults: ['spec.completionMode: Unsupported value: "": supported values: "NonIndexed", "Indexed"'],
  },
  {
    name: "has limits for each index only if it is indexed",
    spec: { template, maxFailedIndexes: 1 },
    faults: [
      "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
      "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
    ],
  },
  {
    name: "cannot fail at more indexes than it has",
    spec: { ...indexed, backoffLimitPerIndex: 0, maxFailedIndexes: 6 },
    faults: ["spec.maxFailedIndexes: Invalid value: 6: must be less than or equal to completions"],
  },
  {
    name: "is limited if it has very many indexes",
    spec: { ...indexed, completions: 100_001, parallelism: 10_001, backoffLimitPerIndex: 1 },
    faults: [
      "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
      "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index",
    ],
  },
  {
    name: "is managed by a path with a domain",
    spec: { template, managedBy: "kueue" },
    faults: ['spec.managedBy: Invalid value: "kueue": must be a domain-prefixed path (such as "acme.io/foo")'],
  },
  {
    name: "is managed by something with a short name",
    spec: { template, managedBy: `acme.io/${"a".repeat(63)}` },
    faults: ["spec.managedBy: Too long: may not be more than 63 bytes"],
  },
  {
    name: "is managed by a path of certain characters",
    spec: { template, managedBy: "acme.io/a b" },
    faults: [
      "spec.managedBy: Invalid value: \"a b\": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
    ],
  },
  {
    name: "replaces pods in one of two ways",
    spec: { template, podReplacementPolicy: "Never" },
    faults: [
      'spec.podReplacementPolicy: Unsupported value: "Never": supported values: "Failed", "TerminatingOrFailed"',
    ],
  },
  {
    name: "replaces only failed pods if it has a policy for failures",
    spec: { ...failurePolicy(exitCodes({})), podReplacementPolicy: "TerminatingOrFailed" },
    faults: ['spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"'],
  },
  {
    name: "does not restart containers if it has a policy for failures",
    spec: {
      ...failurePolicy(exitCodes({})),
      template: { spec: { ...podSpec, restartPolicy: "OnFailure" } },
    },
    faults: [
      'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified',
    ],
  },
  {
    name: "wants an action and one condition in a rule for failures",
    spec: failurePolicy({}, { ...exitCodes({}), onPodConditions: [{ type: "Ready" }] }),
    faults: [
      `${at}[0].action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]`,
      `${at}[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required`,
      `${at}[1]: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported`,
    ],
  },
  {
    name: "fails an index only with a limit for each index",
    spec: failurePolicy({ ...exitCodes({}), action: "FailIndex" }),
    faults: [`${at}[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set`],
  },
  {
    name: "wants exit codes in order, without 0 and duplicates",
    spec: failurePolicy(exitCodes({ values: [2, 0, 2], containerName: "other" })),
    faults: [
      `${at}[0].onExitCodes.containerName: Invalid value: "other": must be one of the container or initContainer names in the pod template`,
      `${at}[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator`,
      `${at}[0].onExitCodes.values[2]: Duplicate value: 2`,
      `${at}[0].onExitCodes.values: Invalid value: [2,0,2]: must be ordered`,
    ],
  },
  {
    name: "wants an operator and exit codes",
    spec: failurePolicy({ action: "Ignore", onExitCodes: {} }),
    faults: [
      `${at}[0].onExitCodes.operator: Required value: valid values: ["In" "NotIn"]`,
      `${at}[0].onExitCodes.values: Invalid value: []: at least one value is required`,
    ],
  },
  {
    name: "has at most 20 rules for failures",
    spec: failurePolicy(...Array.from({ length: 21 }, () => exitCodes({}))),
    faults: [`${at}: Too many: 21: must have at most 20 items`],
  },
  {
    name: "has a policy for success only if it is indexed",
    spec: { template, successPolicy: { rules: [{ succeededCount: 1 }] } },
    faults: [
      'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode',
    ],
  },
  {
    name: "wants rules in a policy for success",
    spec: successPolicy(),
    faults: [
      "spec.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy is specified",
    ],
  },
  {
    name: "wants rules for success that can be met",
    spec: successPolicy({}, { succeededCount: 6 }, { succeededIndexes: "1-2", succeededCount: 3 }),
    faults: [
      "spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified",
      "spec.successPolicy.rules[1].succeededCount: Invalid value: 6: must be less than or equal to 5 (the number of specified completions)",
      "spec.successPolicy.rules[2].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)",
    ],
  },
  {
    name: "wants indexes that it has",
    spec: successPolicy({ succeededIndexes: "1,5" }),
    faults: [
      'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "1,5": error parsing succeededIndexes: too large index: "5"',
    ],
  },
  {
    name: "wants a manual selector that fits its template",
    spec: { template, manualSelector: true, selector: { matchLabels: { app: "sum" } } },
    faults: ["spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`"],
  },
  {
    name: "wants a selector if it is manual",
    spec: { template, manualSelector: true },
    faults: [
      "spec.selector: Required value",
      "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
    ],
  },
  {
    name: "cannot have labels of another job",
    spec: { template: { ...template, metadata: { labels: { "job-name": "other" } } } },
    faults: [
      `spec.template.metadata.labels[job-name]: Invalid value: {"job-name":"other","batch.kubernetes.io/job-name":"sum","controller-uid":"5f2c","batch.kubernetes.io/controller-uid":"5f2c"}: must be 'sum'`,
    ],
  },
  {
    name: "cannot select pods of another job",
    spec: { template, selector: { matchLabels: { "controller-uid": "other" } } },
    faults: [
      'spec.template.metadata.labels: Invalid value: {"job-name":"sum","batch.kubernetes.io/job-name":"sum","controller-uid":"5f2c","batch.kubernetes.io/controller-uid":"5f2c"}: `selector` does not match template `labels`',
      'spec.selector: Invalid value: {"matchLabels":{"batch.kubernetes.io/controller-uid":"5f2c","controller-uid":"other"}}: `selector` not auto-generated',
    ],
  },
];
for (const { name, spec, faults } of cases) {
  test(`a Job ${name}`, () => assert.deepEqual(faultsOf(Job, { metadata, spec }), faults));
}

test("an indexed Job has a name that is good for the host names of its pods", () => {
  const name = "a".repeat(62);

  assert.deepEqual(faultsOf(Job, { metadata: { ...metadata, name }, spec: indexed }), [
    `metadata.name: Invalid value: "${name}": will not able to create pod with invalid DNS label: ${name}-4`,
  ]);
});

test("a Job whose name is no DNS label, or which is very large, is taken with a warning", () => {
  const many = { ...indexed, completions: 100_001, parallelism: 10_001 };
  const [first = "", second = ""] = warningsOfNew(Job, { metadata: { ...metadata, name: "a.b" }, spec: many });

  assert.match(first, /^metadata\.name: this is used in Pod names and hostnames/);
  assert.match(second, /^spec: In Indexed Jobs with a number of completions higher than 10\^5/);
});

/** A job as the server has stored it. */
function stored(changes: object, status: object = {}): { metadata: object; spec: object; status: object } {
  const job = read(Job, { metadata, spec: { template, ...changes } });
  Job.prepareForCreate?.(job);
  return { ...job, status };
}
const changed = (before: ReturnType<typeof stored>, changes: object): string[] =>
  updateFaultsOf(Job, { ...before, spec: { ...before.spec, ...changes } }, before);

test("what the pods of a Job depend on cannot be changed", () => {
  const before = stored({});

  assert.deepEqual(changed(before, { parallelism: 3, suspend: true, backoffLimit: 1 }), []);
  assert.deepEqual(changed(before, { completions: 2, managedBy: "acme.io/a" }), [
    "spec.completions: Invalid value: 2: field is immutable",
    'spec.managedBy: Invalid value: "acme.io/a": field is immutable',
  ]);
  const [fault = ""] = changed(before, templateWith(before, { containers: [{ ...container, image: "sum:2" }] }));
  assert.match(fault, /^spec\.template: .*: field is immutable$/);
});

test("the completions of an indexed Job change together with its parallelism", () => {
  const before = stored({ completionMode: "Indexed", completions: 5, parallelism: 5 });

  assert.deepEqual(changed(before, { completions: 7, parallelism: 7 }), []);
  assert.deepEqual(changed(before, { completions: 7 }), [
    "spec.completions: Invalid value: 7: can only be modified in tandem with spec.parallelism",
  ]);
});

/** The template of a stored job, with changes of its pods. */
function templateWith(before: ReturnType<typeof stored>, changes: object): object {
  const { template } = read(Job, before).spec;
  return { template: { ...template, spec: { ...template.spec, ...changes } } };
}

test("a suspended Job without pods can still be placed, and its resources can be set", () => {
  const placed = {
    nodeSelector: { zone: "a" },
    tolerations: [{ operator: "Exists" }],
    affinity: { nodeAffinity: {} },
    containers: [{ ...container, resources: { requests: { cpu: "1" } } }],
  };
  const idle = stored({ suspend: true });
  const running = stored({ suspend: true }, { startTime: "2026-01-01T00:00:00Z", active: 1 });

  assert.deepEqual(changed(idle, templateWith(idle, placed)), []);
  assert.match(changed(running, templateWith(running, placed))[0] ?? "", /^spec\.template: .*: field is immutable$/);
  const other = templateWith(idle, { containers: [{ ...container, image: "sum:2" }] });
  assert.match(changed(idle, other)[0] ?? "", /^spec\.template\.spec: .*: field is immutable$/);
});

test("the columns of a Job show how far it is", () => {
  const now = Date.parse("2026-01-01T00:10:00Z");
  const cells = (status: object, more: object = {}) =>
    Job.columns.slice(0, 3).map(({ value }) => value(read(Job, { metadata, spec: { ...spec, ...more }, status }), now));
  const done = { type: "Complete", status: "True" };
  const startTime = "2026-01-01T00:00:00Z";

  assert.deepEqual(cells({}), ["Running", "0/1", ""]);
  assert.deepEqual(cells({ startTime }, { parallelism: 3 }), ["Running", "0/1 of 3", "10m"]);
  assert.deepEqual(cells({ startTime, completionTime: "2026-01-01T00:01:00Z", succeeded: 1, conditions: [done] }), [
    "Complete",
    "1/1",
    "60s",
  ]);
  assert.equal(cells({ conditions: [{ type: "Suspended", status: "True" }] })[0], "Suspended");
});

test("Jobs can be selected by the number of their successful pods", () => {
  const job = read(Job, { metadata, spec, status: { succeeded: 2 } });

  assert.equal(Job.selectableFields["status.successful"]?.(job), "2");
});
