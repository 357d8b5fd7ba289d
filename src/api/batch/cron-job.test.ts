import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { warningsOf } from "../rules.ts";
import { CronJob } from "./cron-job.ts";

const metadata = { name: "backup", namespace: "default" };
const template = { spec: { restartPolicy: "OnFailure", containers: [{ name: "backup", image: "backup:1" }] } };
const jobTemplate = { spec: { template } };
const spec = { schedule: "0 3 * * *", jobTemplate };

test("a CronJob gets its defaults, and its jobs get theirs later", () => {
  const { spec: read1 } = read(CronJob, { metadata, spec });

  assert.equal(read1.concurrencyPolicy, "Allow");
  assert.equal(read1.suspend, false);
  assert.deepEqual([read1.successfulJobsHistoryLimit, read1.failedJobsHistoryLimit], [3, 1]);
  assert.equal(read1.jobTemplate.spec.backoffLimit, undefined);
  assert.equal(read1.jobTemplate.spec.template.spec.dnsPolicy, "ClusterFirst");
});

const cases: readonly { name: string; spec: object; faults: readonly string[] }[] = [
  { name: "takes a good one", spec, faults: [] },
  { name: "takes a time zone", spec: { ...spec, timeZone: "Europe/Rome" }, faults: [] },
  { name: "wants a schedule", spec: { jobTemplate }, faults: ["spec.schedule: Required value"] },
  {
    name: "wants a schedule that can be understood",
    spec: { ...spec, schedule: "0 25 * * *" },
    faults: ['spec.schedule: Invalid value: "0 25 * * *": end of range (25) above maximum (23): 25'],
  },
  {
    name: "wants a schedule that is not very long",
    spec: { ...spec, schedule: `${"1,".repeat(5000)} * * * *` },
    faults: ["spec.schedule: Too long: may not be more than 8192 bytes"],
  },
  {
    name: "wants its time zone in a field of its own",
    spec: { ...spec, schedule: "TZ=UTC 0 3 * * *" },
    faults: [
      'spec.schedule: Invalid value: "TZ=UTC 0 3 * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
    ],
  },
  {
    name: "wants a time zone that exists",
    spec: { ...spec, timeZone: "europe/rome" },
    faults: ['spec.timeZone: Invalid value: "europe/rome": unknown time zone europe/rome'],
  },
  {
    name: "wants a time zone that is no path",
    spec: { ...spec, timeZone: "../../etc/passwd" },
    faults: ['spec.timeZone: Invalid value: "../../etc/passwd": unknown time zone ../../etc/passwd'],
  },
  {
    name: "wants a time zone that is not empty",
    spec: { ...spec, timeZone: "" },
    faults: ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string'],
  },
  {
    name: "wants a time zone that is the same everywhere",
    spec: { ...spec, timeZone: "Local" },
    faults: [
      'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
    ],
  },
  {
    name: "knows three policies",
    spec: { ...spec, concurrencyPolicy: "Queue" },
    faults: ['spec.concurrencyPolicy: Unsupported value: "Queue": supported values: "Allow", "Forbid", "Replace"'],
  },
  {
    name: "refuses negative numbers",
    spec: { ...spec, startingDeadlineSeconds: -1, successfulJobsHistoryLimit: -1, failedJobsHistoryLimit: -1 },
    faults: ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"].map(
      (name) => `spec.${name}: Invalid value: -1: must be greater than or equal to 0`,
    ),
  },
  {
    name: "leaves the selector to its jobs",
    spec: { ...spec, jobTemplate: { spec: { template, manualSelector: true, selector: { matchLabels: { a: "b" } } } } },
    faults: [
      'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: `selector` will be auto-generated',
      'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
    ],
  },
  {
    name: "checks the template of its jobs",
    spec: { ...spec, jobTemplate: { spec: { template, parallelism: -1, maxFailedIndexes: 1 } } },
    faults: [
      "spec.jobTemplate.spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
      "spec.jobTemplate.spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
      "spec.jobTemplate.spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
    ],
  },
];
for (const { name, spec, faults } of cases) {
  test(`a CronJob ${name}`, () => assert.deepEqual(faultsOf(CronJob, { metadata, spec }), faults));
}

test("the name of a CronJob leaves room for those of its jobs", () => {
  const name = "a".repeat(53);

  assert.deepEqual(faultsOf(CronJob, { metadata: { ...metadata, name }, spec }), [
    `metadata.name: Invalid value: "${name}": must be no more than 52 characters`,
  ]);
});

test("a CronJob that has a time zone in its schedule keeps it, but gets no second one", () => {
  const old = { metadata, spec: { ...spec, schedule: "TZ=UTC 0 3 * * *" } };
  const zoned = { ...old.spec, timeZone: "Europe/Rome" };

  assert.deepEqual(updateFaultsOf(CronJob, old, old), []);
  assert.deepEqual(updateFaultsOf(CronJob, { metadata, spec: zoned }, old), [
    'spec.schedule: Invalid value: "TZ=UTC 0 3 * * *": cannot use both timeZone field and TZ or CRON_TZ in schedule',
  ]);
  const [warning = ""] = warningsOf(CronJob, read(CronJob, old), read(CronJob, old));
  assert.match(warning, /^cannot use TZ or CRON_TZ in spec\.spec\.schedule/);
});

test("the time zone of a CronJob is checked only if it changes", () => {
  const old = { metadata, spec: { ...spec, timeZone: "Mars/Base" } };

  assert.deepEqual(updateFaultsOf(CronJob, { ...old, spec: { ...old.spec, suspend: true } }, old), []);
  assert.deepEqual(updateFaultsOf(CronJob, { ...old, spec: { ...spec, timeZone: "Mars/Dome" } }, old), [
    'spec.timeZone: Invalid value: "Mars/Dome": unknown time zone Mars/Dome',
  ]);
});

test("a CronJob whose name is no DNS label is taken with a warning", () => {
  const [warning = ""] = warningsOfNew(CronJob, { metadata: { ...metadata, name: "a.b" }, spec });

  assert.match(warning, /^metadata\.name: this is used in Pod names and hostnames/);
});

test("the columns of a CronJob show when it ran last", () => {
  const status = { active: [{ kind: "Job", name: "backup-1" }], lastScheduleTime: "2026-01-01T00:00:00Z" };
  const cells = (object: object) =>
    CronJob.columns.map(({ value }) => value(read(CronJob, object), Date.parse("2026-01-01T00:01:30Z")));

  assert.deepEqual(cells({ metadata, spec: { ...spec, suspend: true, timeZone: "UTC" }, status }), [
    "0 3 * * *",
    "UTC",
    "True",
    1,
    "90s",
    "<unknown>",
    "backup",
    "backup:1",
    "<none>",
  ]);
  assert.deepEqual(cells({ metadata, spec }).slice(1, 5), ["<none>", "False", 0, "<none>"]);
});
