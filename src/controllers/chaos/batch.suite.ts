import { CronJob } from "#api/batch/cron-job.ts";
import { Job } from "#api/batch/job.ts";
import { Pod } from "#api/core/pod.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { type Ordeal, type Place } from "#testing/chaos/ordeal.ts";

const podSpec = { restartPolicy: "Never" as const, containers: [{ name: "c", image: "i" }] };
const template = { spec: podSpec };

/** Notes every pod that ended, also those that are gone. */
function followEnds(at: Place, parallelism: number): void {
  const running = new Set<string>();
  at.follow(Pod, ({ metadata: { uid, deletionTimestamp }, status: { phase } }, type) => {
    if (phase === "Succeeded" || phase === "Failed") at.seen.add(`${phase} ${uid}`);
    else if (deletionTimestamp) at.seen.add(`Removed ${uid}`);
    if (type === "put" && phase === "Running") running.add(uid);
    else running.delete(uid);
    if (running.size > parallelism * at.leaders) at.fault(`${running.size} pods at the same time`);
  });
}
const count = (at: Place, phase: string): number => [...at.seen].filter((entry) => entry.startsWith(phase)).length;

const counting = (completionMode: "Indexed" | "NonIndexed", completedIndexes: string | undefined): Ordeal => ({
  name: `a Job counts each pod once (${completionMode})`,
  controllers: ["job-controller"],
  endOf: (_pod, random) => (random() < 0.3 ? "Failed" : "Succeeded"),
  rounds: [
    (at) =>
      at.create(Job, {
        metadata: at.ref("sum"),
        spec: { completions: 8, parallelism: 3, backoffLimit: 100, completionMode, template },
      }),
  ],
  watch: (at) => followEnds(at, 3),
  async ends(at) {
    const { status } = await at.cluster.client.get(Job, at.ref("sum"));
    const finalizers = (await at.list(Pod)).flatMap(({ metadata }) => metadata.finalizers ?? []);
    // A pod that a second leader made may succeed beyond what was asked for; nobody may count it twice.
    const succeeded = at.leaders > 1 && completionMode === "NonIndexed" ? count(at, "Succeeded") : 8;
    // Where a second leader made another pod for an index, one of the two is removed, which counts as a failure.
    const removed = at.leaders > 1 ? count(at, "Removed") : 0;
    const { failed = 0 } = status;
    const least = count(at, "Failed");
    return [
      [status.succeeded, failed, status.completedIndexes, status.active, finalizers],
      [succeeded, Math.min(Math.max(failed, least), least + removed), completedIndexes, undefined, []],
    ];
  },
});

export const batch: readonly Ordeal[] = [
  counting("NonIndexed", undefined),
  counting("Indexed", "0-7"),
  {
    name: "a CronJob creates one job for each moment",
    controllers: ["cronjob-controller"],
    endOf: () => "Succeeded",
    rounds: [
      (at) =>
        at.create(CronJob, {
          metadata: at.ref("tick"),
          spec: { schedule: "*/10 * * * *", jobTemplate: { spec: { template } } },
        }),
    ],
    watch(at) {
      const moments = new Map<string, string>();
      at.follow(Job, ({ metadata }) => {
        const moment = metadata.annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"] ?? "";
        const known = moments.get(moment) ?? metadata.uid;
        if (known !== metadata.uid) at.fault(`two jobs at ${moment}`);
        moments.set(moment, known);
      });
    },
    async ends(at) {
      const jobs = await at.list(Job);
      const { status } = await at.cluster.client.get(CronJob, at.ref("tick"));
      const last = jobs
        .map((job) => job.status.completionTime ?? "")
        .sort()
        .at(-1);
      return [
        [jobs.length, status.active, status.lastSuccessfulTime],
        [3, undefined, last],
      ];
    },
  },
  {
    name: "a finished Job goes after its time, and not before",
    controllers: ["ttl-after-finished-controller"],
    endOf: () => "Succeeded",
    rounds: [
      (at) => at.create(Job, { metadata: at.ref("short"), spec: { ttlSecondsAfterFinished: 600, template } }),
      (at) => at.create(Job, { metadata: at.ref("kept"), spec: { template } }),
    ],
    watch(at) {
      at.follow(Job, ({ metadata, status }, type) => {
        const livedMs = at.cluster.clock.now() - Date.parse(status.completionTime ?? "");
        if (type === "delete" && !(livedMs >= 600_000)) at.fault(`${metadata.name} lived ${livedMs} ms`);
      });
    },
    async ends(at) {
      const jobs = await at.list(Job);
      const complete = jobs.filter(({ status }) => isConditionTrue(status.conditions, "Complete"));
      const pods = (await at.list(Pod)).map(({ metadata }) => metadata.labels?.["job-name"]);
      // A second leader may have made another pod for the same job.
      const most = Math.min(pods.length, at.leaders);
      return [
        [complete.map(({ metadata }) => metadata.name), pods],
        [["kept"], Array(Math.max(most, 1)).fill("kept")],
      ];
    },
  },
];
