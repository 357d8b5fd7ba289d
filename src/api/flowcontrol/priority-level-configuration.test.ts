import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf } from "../faults.suite.ts";
import { PriorityLevelConfiguration } from "./priority-level-configuration.ts";

const metadata = { name: "low" };
const reject = { limitResponse: { type: "Reject" } };
const limited = (part: object) => ({ metadata, spec: { type: "Limited", limited: { ...reject, ...part } } });
const queued = (queuing: object) => limited({ limitResponse: { type: "Queue", queuing } });
const exempt = (spec: object) => ({ metadata: { name: "exempt" }, spec: { type: "Exempt", ...spec } });

const onlyExempt = "must be 'Exempt' if and only if `name` is 'exempt'";
const cases: readonly { name: string; object: object; faults: readonly string[] }[] = [
  { name: "may refuse what it cannot serve", object: limited({ borrowingLimitPercent: 0 }), faults: [] },
  { name: "may let requests wait", object: queued({}), faults: [] },
  { name: "may be exempt", object: exempt({ exempt: { lendablePercent: 50 } }), faults: [] },
  { name: "needs a type", object: { metadata, spec: {} }, faults: ["spec.type: Required value"] },
  {
    name: "has one of two types",
    object: { metadata, spec: { type: "Free" } },
    faults: ['spec.type: Unsupported value: "Free": supported values: "Exempt", "Limited"'],
  },
  {
    name: "is not exempt under another name",
    object: { metadata, spec: { type: "Exempt", limited: reject } },
    faults: [
      `spec.type: Invalid value: "Exempt": ${onlyExempt}`,
      "spec.limited: Forbidden: must be nil if the type is not Limited",
    ],
  },
  {
    name: "has its limits and nothing that is exempt",
    object: { metadata, spec: { type: "Limited", exempt: {} } },
    faults: [
      "spec.exempt: Forbidden: must be nil if the type is Limited",
      "spec.limited: Required value: must not be empty when type is Limited",
    ],
  },
  {
    name: "has shares and percentages in their ranges",
    object: limited({ nominalConcurrencyShares: -1, lendablePercent: 101, borrowingLimitPercent: -2 }),
    faults: [
      "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
      "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
      "spec.limited.borrowingLimitPercent: Invalid value: -2: if specified, must be a non-negative integer",
    ],
  },
  {
    name: "has the same ranges if it is exempt",
    object: exempt({ exempt: { nominalConcurrencyShares: -1, lendablePercent: -1 } }),
    faults: [
      "spec.exempt.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
      "spec.exempt.lendablePercent: Invalid value: -1: must be between 0 and 100, inclusive",
    ],
  },
  {
    name: "says what happens at the limit",
    object: limited({ limitResponse: {} }),
    faults: ["spec.limited.limitResponse.type: Required value"],
  },
  {
    name: "can only queue or reject",
    object: limited({ limitResponse: { type: "Delay" } }),
    faults: ['spec.limited.limitResponse.type: Unsupported value: "Delay": supported values: "Queue", "Reject"'],
  },
  {
    name: "has no queues if it rejects",
    object: limited({ limitResponse: { type: "Reject", queuing: {} } }),
    faults: ["spec.limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited"],
  },
  {
    name: "has queues if it queues",
    object: limited({ limitResponse: { type: "Queue" } }),
    faults: [
      "spec.limited.limitResponse.queuing: Required value: must not be empty if limited.limitResponse.type is Limited",
    ],
  },
  {
    name: "has queues of a positive number and length",
    object: queued({ queues: -1, handSize: -1, queueLengthLimit: -1 }),
    faults: [
      "spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive",
      "spec.limited.limitResponse.queuing.queues: Invalid value: -1: must be positive",
      "spec.limited.limitResponse.queuing.handSize: Invalid value: -1: must be positive",
    ],
  },
  {
    name: "gives no flow more queues than there are",
    object: queued({ queues: 4, handSize: 5 }),
    faults: ["spec.limited.limitResponse.queuing.handSize: Invalid value: 5: should not be greater than queues (4)"],
  },
  {
    name: "has no more queues than a hash can choose from",
    object: queued({ queues: 10_000_001, handSize: 8 }),
    faults: [
      "spec.limited.limitResponse.queuing.queues: Invalid value: 10000001: must not be greater than 10000000",
      "spec.limited.limitResponse.queuing.handSize: Invalid value: 8: required entropy bits of deckSize 10000001 and handSize 8 should not be greater than 60",
    ],
  },
  { name: "may use every bit of the hash", object: queued({ queues: 1024, handSize: 6 }), faults: [] },
  {
    name: "has none of an older version's annotations",
    object: {
      ...limited({}),
      metadata: { ...metadata, annotations: { "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares": "" } },
    },
    faults: [
      "metadata.annotations: Forbidden: annotation 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares' is forbidden",
    ],
  },
  {
    name: "may be the mandatory catch-all",
    object: { ...limited({ nominalConcurrencyShares: 5 }), metadata: { name: "catch-all" } },
    faults: [],
  },
  {
    name: "cannot be another catch-all",
    object: { ...limited({}), metadata: { name: "catch-all" } },
    faults: [
      'spec: Invalid value: {"type":"Limited","limited":{"limitResponse":{"type":"Reject"},"nominalConcurrencyShares":30,"lendablePercent":0}}: spec of \'catch-all\' must equal the fixed value',
    ],
  },
  {
    name: "has no limits if it is exempt",
    object: exempt({ limited: { ...reject } }),
    faults: [
      "spec.limited: Forbidden: must be nil if the type is not Limited",
      'spec: Invalid value: {"type":"Exempt","limited":{"limitResponse":{"type":"Reject"},"nominalConcurrencyShares":30,"lendablePercent":0}}: spec of \'exempt\' except the \'spec.exempt\' field must equal the fixed value',
    ],
  },
];
for (const { name, object, faults } of cases) {
  test(`a PriorityLevelConfiguration ${name}`, () => {
    assert.deepEqual(faultsOf(PriorityLevelConfiguration, object), faults);
  });
}

test("a PriorityLevelConfiguration gets its defaults, and a number of 0 counts as none where Go has no pointer", () => {
  const { spec } = read(PriorityLevelConfiguration, queued({ queues: 0, handSize: 0, queueLengthLimit: 0 }));
  const zero = read(PriorityLevelConfiguration, limited({ nominalConcurrencyShares: 0 }));

  assert.deepEqual(spec.limited?.limitResponse.queuing, { queues: 64, handSize: 8, queueLengthLimit: 50 });
  assert.deepEqual([spec.limited?.nominalConcurrencyShares, spec.limited?.lendablePercent], [30, 0]);
  assert.equal(spec.limited?.borrowingLimitPercent, undefined);
  assert.equal(zero.spec.limited?.nominalConcurrencyShares, 0);
  assert.deepEqual(read(PriorityLevelConfiguration, exempt({ exempt: {} })).spec.exempt, {
    nominalConcurrencyShares: 0,
    lendablePercent: 0,
  });
});

test("a PriorityLevelConfiguration shows its shares and queues", () => {
  const cells = (object: object) =>
    PriorityLevelConfiguration.columns.map(({ value }) => value(read(PriorityLevelConfiguration, object), 0));

  assert.deepEqual(
    PriorityLevelConfiguration.columns.map(({ name }) => name),
    ["Type", "NominalConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit", "Age"],
  );
  assert.deepEqual(cells(queued({})), ["Limited", 30, 64, 8, 50, "<unknown>"]);
  assert.deepEqual(cells(limited({})), ["Limited", 30, "<none>", "<none>", "<none>", "<unknown>"]);
  assert.deepEqual(cells(exempt({})), ["Exempt", "<none>", "<none>", "<none>", "<none>", "<unknown>"]);
});

test("conditions of a PriorityLevelConfiguration have a type, each another one", () => {
  const conditions = [{ type: "A" }, { type: "A" }, {}];
  const old = { ...limited({}), metadata: { ...metadata, resourceVersion: "1" } };

  assert.deepEqual(statusFaultsOf(PriorityLevelConfiguration, { metadata, status: { conditions } }, old), [
    'status.conditions[1].type: Duplicate value: "A"',
    "status.conditions[2].type: Required value",
  ]);
});
