import assert from "node:assert/strict";
import { test } from "node:test";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { planMembers, sortMembers } from "./plan-members.ts";

const nowMs = Date.UTC(2026, 0, 1, 8);
const at = (secondsAgo: number) => new Date(nowMs - secondsAgo * 1000).toISOString().replace(".000", "");
const labels = { app: "web" };

const setOf = (spec: Partial<InputOf<StatefulSet>["spec"]> = {}): StatefulSet =>
  build(StatefulSet, {
    metadata: { name: "web" },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
      ...spec,
    },
  });

/** A pod in a few words: its ordinal, `old` or nothing, and `ready`, `starting`, `ending`, `failed`. */
function pod(text: string): Pod {
  const [ordinal = "0", ...words] = text.split(" ");
  const phase = words.includes("failed") ? "Failed" : words.includes("starting") ? "Pending" : "Running";
  const isReady = phase === "Running";
  return build(Pod, {
    metadata: {
      name: `web-${ordinal}`,
      labels: { ...labels, "controller-revision-hash": words.includes("old") ? "web-old" : "web-new" },
      ...(words.includes("ending") ? { deletionTimestamp: at(1) } : {}),
    },
    spec: { containers: [{ name: "c", image: "i" }] },
    status: {
      phase,
      conditions: [{ type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: at(5) }],
    },
  });
}

const parallel = { podManagementPolicy: "Parallel" };
const partition = (partition: number) => ({
  updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition } },
});

interface Case {
  readonly name: string;
  readonly spec?: Partial<InputOf<StatefulSet>["spec"]>;
  readonly pods: readonly string[];
  readonly create?: readonly number[];
  readonly remove?: readonly string[];
}
const cases: readonly Case[] = [
  { name: "starts the first pod alone", pods: [], create: [0] },
  { name: "starts the next when the one before is available", pods: ["0"], create: [1] },
  { name: "waits for one that is starting", pods: ["0 starting"] },
  { name: "waits for one that is ready, but not for long enough", spec: { minReadySeconds: 10 }, pods: ["0"] },
  { name: "waits for one that is ending", pods: ["0 ending", "1", "2"] },
  { name: "replaces one that has failed", pods: ["0", "1 failed", "2"], remove: ["web-1"] },
  { name: "waits for the end of one that has failed", pods: ["0", "1 failed ending", "2"] },
  { name: "fills a gap before it goes on", pods: ["0", "2"], create: [1] },
  { name: "numbers from the first ordinal", spec: { ordinals: { start: 7 } }, pods: ["7"], create: [8] },
  { name: "ends the highest of too many", pods: ["0", "1", "2", "3", "4"], remove: ["web-4"] },
  { name: "ends no other while one is ending", pods: ["0", "1", "2", "3", "4 ending"] },
  {
    name: "ends one below the first ordinal",
    spec: { ordinals: { start: 1 }, replicas: 1 },
    pods: ["0", "1"],
    remove: ["web-0"],
  },
  { name: "ends one that is not well, if it is the only one", pods: ["0", "1", "2", "3 starting"], remove: ["web-3"] },
  { name: "updates the highest first", pods: ["0 old", "1 old", "2 old"], remove: ["web-2"] },
  { name: "updates the next when the one above is available", pods: ["0 old", "1 old", "2"], remove: ["web-1"] },
  { name: "updates nothing while a pod is starting", pods: ["0 old", "1 old", "2 starting"] },
  { name: "updates nothing below the partition", spec: partition(2), pods: ["0 old", "1 old", "2"] },
  {
    name: "updates nothing by itself with OnDelete",
    spec: { updateStrategy: { type: "OnDelete" } },
    pods: ["0 old", "1", "2"],
  },
  { name: "starts all at once if it may", spec: parallel, pods: ["1 starting"], create: [0, 2] },
  {
    name: "ends all at once if it may",
    spec: { ...parallel, replicas: 0 },
    pods: ["0", "1 starting", "2 ending"],
    remove: ["web-0", "web-1"],
  },
  {
    name: "updates one after another also if it may start all at once",
    spec: parallel,
    pods: ["0 old", "1 old", "2 old"],
    remove: ["web-2"],
  },
];
for (const { name, spec = {}, pods, create = [], remove = [] } of cases) {
  test(`planMembers() ${name}`, () => {
    const set = setOf(spec);
    const members = sortMembers(set, pods.map(pod));

    const plan = planMembers(set, members, { updateRevision: "web-new", nowMs });

    assert.deepEqual(plan.create, create);
    assert.deepEqual(plan.remove.map(({ metadata }) => metadata.name).toSorted(), remove);
  });
}
