import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { type Client } from "#client/client.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { loadScheduling } from "./load.ts";

const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
const deps = () => ({ client: {} as Client, informers: createFakeInformers(), clock: createVirtualClock() });

/** Loads a configuration with this text below its head. */
async function load(text: string, files: Readonly<Record<string, string>> = {}) {
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "scheduler-"));
  for (const [name, content] of Object.entries(files)) await writeFile(path.join(dir.path, name), content);
  const file = path.join(dir.path, "scheduler.yaml");
  await writeFile(file, head + text);
  try {
    const scheduling = await loadScheduling(file, { log: silentLog, clock: systemClock });
    return { ...scheduling.setup(deps()), election: scheduling.election };
  } catch (error) {
    // The name of the directory differs each time.
    throw new Error((error as Error).message.replaceAll(`${dir.path}/`, ""));
  }
}

test("an empty configuration is the default scheduler", async () => {
  const { profiles, backoff, election } = await load("");

  assert.deepEqual(
    profiles.map(({ schedulerName, plugins }) => [schedulerName, plugins.length > 15]),
    [["default-scheduler", true]],
  );
  assert.deepEqual(backoff, { initialMs: 1000, maxMs: 10_000 });
  assert.equal(election, undefined);
});

test("a configuration names profiles, backoff and the lease, and each profile has its own plugins", async () => {
  const { profiles, backoff, election } = await load(`
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 60
leaderElection: { leaderElect: true, leaseDuration: 30s, renewDeadline: 20s, resourceName: second }
profiles:
- schedulerName: default-scheduler
- schedulerName: packing
  percentageOfNodesToScore: 50
  plugins: { multiPoint: { disabled: [{ name: ImageLocality }] } }
  pluginConfig:
  - name: NodeResourcesFit
    args: { scoringStrategy: { type: MostAllocated } }
`);
  const [usual, packing] = profiles;
  const has = (at: typeof usual, name: string) => at?.plugins.find((plugin) => plugin.name === name);

  assert.deepEqual([usual?.schedulerName, packing?.schedulerName], ["default-scheduler", "packing"]);
  assert.deepEqual(
    [has(usual, "ImageLocality")?.name, has(packing, "ImageLocality")?.name],
    ["ImageLocality", undefined],
  );
  assert.deepEqual([usual?.enoughOf, packing?.enoughOf?.(1000)], [undefined, 500]);
  // What was promised to pods of one profile must be known to the other.
  assert.equal(has(usual, "VolumeBinding"), has(packing, "VolumeBinding"));
  assert.notEqual(has(usual, "NodeResourcesFit"), has(packing, "NodeResourcesFit"));
  assert.deepEqual(backoff, { initialMs: 2000, maxMs: 60_000 });
  assert.deepEqual(election, {
    enabled: true,
    leaseDurationMs: 30_000,
    renewDeadlineMs: 20_000,
    retryPeriodMs: 2000,
    lease: { namespace: "kube-system", name: "second" },
  });
});

const inProfile = (text: string) => `profiles:\n- ${text}\n`;
const withArgs = (name: string, args: string) => inProfile(`pluginConfig: [{ name: ${name}, args: ${args} }]`);
const at = "scheduler.yaml: profiles[0].pluginConfig[0].args: ";

const refused: readonly (readonly [text: string, message: string])[] = [
  ["podInitialBackoff: 1", "scheduler.yaml: podInitialBackoff: there is no such field in KubeSchedulerConfiguration"],
  [
    "podInitialBackoffSeconds: 20",
    "scheduler.yaml: podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds",
  ],
  ["parallelism: 0", "scheduler.yaml: parallelism: Invalid value: 0: should be an integer value greater than zero"],
  [
    "percentageOfNodesToScore: 101",
    "scheduler.yaml: percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
  ],
  [
    "leaderElection: { leaseDuration: 5s }",
    'scheduler.yaml: leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`',
  ],
  [
    "leaderElection: { renewDeadline: 6s, retryPeriod: 5s }",
    'scheduler.yaml: leaderElection.renewDeadline: Invalid value: "6s": must be greater than retryPeriod*JitterFactor',
  ],
  [
    "profiles: [{}, {}]",
    "scheduler.yaml: profiles[0].schedulerName: Required value; profiles[1].schedulerName: Required value",
  ],
  [
    "profiles: [{ schedulerName: a }, { schedulerName: a }]",
    'scheduler.yaml: profiles[1].schedulerName: Duplicate value: "profiles[0].schedulerName"',
  ],
  [
    "profiles: [{ schedulerName: a, plugins: { filters: {} } }]",
    "scheduler.yaml: profiles[0].plugins.filters: there is no such field in KubeSchedulerConfiguration",
  ],
  [
    inProfile("plugins: { bind: { disabled: [{ name: DefaultBinder }] } }"),
    "scheduler.yaml: profiles[0].plugins.bind: Required value: at least one bind plugin is needed",
  ],
  [
    withArgs("DefaultPreemption", "{ minCandidateNodesPercentage: 200 }"),
    `${at}minCandidateNodesPercentage: Invalid value: 200: not in valid range [0, 100]`,
  ],
  [
    withArgs("InterPodAffinity", "{ hardPodAffinityWeight: -1 }"),
    `${at}hardPodAffinityWeight: Invalid value: -1: not in valid range [0, 100]`,
  ],
  [
    withArgs("DynamicResources", "{ filterTimeout: -1s, bindingTimeout: 10ms }"),
    `${at}filterTimeout: Invalid value: "-1s": must be zero or positive; bindingTimeout: Invalid value: "10ms": must be at least 1 second`,
  ],
  [
    withArgs("VolumeBinding", "{ bindTimeoutSeconds: -1 }"),
    `${at}bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value`,
  ],
  [withArgs("NodeResourcesFit", "{ strategy: {} }"), `${at}strategy: there is no such field in NodeResourcesFitArgs`],
  [
    withArgs("NodeResourcesFit", "{ scoringStrategy: { type: Best } }"),
    `${at}scoringStrategy.type: Unsupported value: "Best": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"`,
  ],
  [
    withArgs("NodeResourcesFit", "{ scoringStrategy: { type: RequestedToCapacityRatio } }"),
    `${at}scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is RequestedToCapacityRatio`,
  ],
  [
    withArgs("NodeResourcesBalancedAllocation", "{ resources: [{ name: cpu, weight: 2 }] }"),
    `${at}resources[0].weight: Invalid value: 2: must be 1`,
  ],
  [
    withArgs(
      "PodTopologySpread",
      "{ defaultConstraints: [{ maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule }] }",
    ),
    `${at}defaultingType: Invalid value: "System": when .defaultConstraints are not empty`,
  ],
  [
    withArgs(
      "NodeAffinity",
      "{ addedAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } }",
    ),
    `${at}addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term`,
  ],
  [
    withArgs("NodeAffinity", "{ kind: NodeResourcesFitArgs }"),
    `${at.slice(0, -2)}: kind: must be NodeAffinityArgs, not "NodeResourcesFitArgs"`,
  ],
  [
    withArgs("Nobody", "{}"),
    'scheduler.yaml: profiles[0].pluginConfig[0].args.module: Required value: there is no plugin "Nobody": correct the name, or name the file of your own plugin',
  ],
  [
    "extenders: [{ urlPrefix: 'file:///etc' }]",
    'scheduler.yaml: extenders[0].urlPrefix: Invalid value: "file:///etc": must be an http or https URL',
  ],
  [
    "extenders: [{ urlPrefix: 'http://127.0.0.1:1', filterVerb: '../x' }]",
    'scheduler.yaml: extenders[0].filterVerb: Invalid value: "../x": must be a path below urlPrefix',
  ],
  [
    "extenders: [{ urlPrefix: 'http://127.0.0.1:1', prioritizeVerb: p }]",
    "scheduler.yaml: extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
  ],
  [
    "extenders: [{ urlPrefix: 'http://127.0.0.1:1', managedResources: [{ name: cpu }] }]",
    'scheduler.yaml: extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
  ],
];
for (const [text, message] of refused) {
  test(`a configuration is refused: ${message}`, async () => {
    await assert.rejects(load(text), { message });
  });
}

const misspelt: readonly (readonly [plugin: string, message: string | undefined])[] = [
  ["({ filtr() {} })", 'has "filtr", which the scheduler does not know: did you mean filter?'],
  [
    "new (class { prefilter() {} filter() {} })()",
    'has "prefilter", which the scheduler does not know: did you mean preFilter?',
  ],
  ["({ score: () => 1, weigth: 2 })", 'has "weigth", which the scheduler does not know: did you mean weight?'],
  ["({ helper() {} })", "must return an object with hooks, such as filter or score"],
  ["7", "must return an object with hooks"],
  ["({ score: () => 1, scores: () => 2, bound: new Map(), helper() {} })", undefined],
];
for (const [plugin, message] of misspelt) {
  test(`a plugin that returns ${plugin} is ${message ? "refused" : "accepted"}`, async () => {
    const text =
      "profiles: [{ plugins: { multiPoint: { enabled: [{ name: A }] } }, pluginConfig: [{ name: A, args: { module: a.mjs } }] }]";
    const loaded = load(text, { "a.mjs": `export default () => ${plugin};` });

    if (message === undefined) await loaded;
    else
      await assert.rejects(loaded, { message: `scheduler.yaml: profiles[0].pluginConfig[0]: plugin a.mjs ${message}` });
  });
}
