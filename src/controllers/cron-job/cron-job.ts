import { CronJob } from "#api/batch/cron-job.ts";
import { Job } from "#api/batch/job.ts";
import { endOf, isFinished } from "#api/batch/job-status.ts";
import { type ObjectReference } from "#api/core/references.ts";
import { isControlledBy } from "#api/meta/owner.ts";
import { apiVersionOf } from "#api/resource.ts";
import { ignoreNotFound, isAlreadyExists } from "#api/status.ts";
import { referenceTo } from "#client/events.ts";
import { ownedBy } from "#controllers/shared/dependents.ts";
import { isNamespaceEnding } from "#controllers/shared/namespace-ending.ts";
import { writeStatusIfChanged } from "#controllers/shared/write-status.ts";
import { timestamp } from "#lib/async/clock.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { againAfter, type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { jobOf } from "./job-of.ts";
import { planSchedule } from "./plan-schedule.ts";

type CronJobStatus = CronJob["status"];

/** Creates a job at each moment of a schedule, and keeps a few of those that have finished. */
export function cronJobController(deps: ReconcilerDeps): Reconciler<CronJob> {
  const jobs = deps.informers.of(Job);
  return {
    name: "cronjob",
    reconciles: CronJob,
    owns: [Job],

    async reconcile(cronJob, signal) {
      const round = new Round(deps, cronJob, signal);
      const owned = ownedBy(jobs, cronJob);
      await round.followJobs(owned);
      await round.removeOld(owned);
      const isIdle = cronJob.metadata.deletionTimestamp !== undefined || cronJob.spec.suspend;
      const nextMs = isIdle ? undefined : await round.createDue();
      await writeStatusIfChanged(deps, { resource: CronJob, object: cronJob, status: round.status }, signal);
      return againAfter(nextMs);
    },
  };
}

/** One run for a CronJob, which collects its new status. */
class Round {
  readonly #deps: ReconcilerDeps;
  readonly #cronJob: CronJob;
  readonly #signal: AbortSignal;
  #active: readonly ObjectReference[];
  #lastScheduleTime: string | undefined;
  #lastSuccessfulTime: string | undefined;

  constructor(deps: ReconcilerDeps, cronJob: CronJob, signal: AbortSignal) {
    this.#deps = deps;
    this.#cronJob = cronJob;
    this.#signal = signal;
    const { active = [], lastScheduleTime, lastSuccessfulTime } = cronJob.status;
    this.#active = active;
    this.#lastScheduleTime = lastScheduleTime;
    this.#lastSuccessfulTime = lastSuccessfulTime;
  }

  get status(): CronJobStatus {
    return {
      ...(this.#active.length > 0 ? { active: [...this.#active] } : {}),
      ...(this.#lastScheduleTime ? { lastScheduleTime: this.#lastScheduleTime } : {}),
      ...(this.#lastSuccessfulTime ? { lastSuccessfulTime: this.#lastSuccessfulTime } : {}),
    };
  }

  /** Takes finished and missing jobs off the list of active ones. */
  async followJobs(owned: readonly Job[]): Promise<void> {
    for (const job of owned) {
      const { name, uid } = job.metadata;
      const isKnown = this.#active.some((active) => active.uid === uid);
      if (!isFinished(job.status)) {
        // Somebody has started it by hand, so it does not count for the concurrency policy.
        const message = `Saw a job that the controller did not create or forgot: ${name}`;
        if (!isKnown) this.#tell("Warning", "UnexpectedJob", message);
        continue;
      }
      if (isKnown) {
        this.#forget(uid);
        this.#tell("Normal", "SawCompletedJob", `Saw completed job: ${name}, condition: ${endOf(job.status)?.type}`);
      }
      this.#noteSuccess(job);
    }
    const uids = new Set(owned.map(({ metadata }) => metadata.uid));
    for (const { uid = "", name = "" } of this.#active.filter(({ uid = "" }) => !uids.has(uid))) {
      const { namespace } = this.#cronJob.metadata;
      const job = await this.#deps.client.get(Job, { namespace, name }, { signal: this.#signal }).catch(ignoreNotFound);
      if (job?.metadata.uid === uid) continue;
      this.#forget(uid);
      this.#tell("Normal", "MissingJob", `Active job went missing: ${name}`);
    }
  }

  #noteSuccess({ status: { completionTime } }: Job): void {
    if (!completionTime) return;
    if (this.#lastSuccessfulTime && completionTime <= this.#lastSuccessfulTime) return;
    this.#lastSuccessfulTime = completionTime;
  }

  /** Deletes the oldest finished jobs beyond the limits. */
  async removeOld(owned: readonly Job[]): Promise<void> {
    const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = this.#cronJob.spec;
    const sorted = owned.toSorted(byStart);
    for (const [end, limit] of [
      ["Complete", successfulJobsHistoryLimit],
      ["Failed", failedJobsHistoryLimit],
    ] as const) {
      const ended = sorted.filter((job) => endOf(job.status)?.type === end && !job.metadata.deletionTimestamp);
      for (const job of ended.slice(0, Math.max(0, ended.length - limit))) await this.#remove(job);
    }
  }

  /** Creates the job that is due, if there is one, and returns when to look again. */
  async createDue(): Promise<number | undefined> {
    const { spec } = this.#cronJob;
    const { dueMs, isTooLate, hasMissedMany, nextMs, fault } = planSchedule(this.#cronJob, this.#deps.clock.now());
    if (fault) this.#tell("Warning", fault.reason, fault.message);
    if (dueMs === undefined) return nextMs;
    if (hasMissedMany) {
      const advice = "Set or decrease .spec.startingDeadlineSeconds or check clock skew";
      this.#tell("Warning", "TooManyMissedTimes", `too many missed start times. ${advice}`);
    }
    if (isTooLate) {
      this.#tell("Warning", "MissSchedule", `Missed scheduled time to start a job: ${utcText(dueMs)}`);
      return nextMs;
    }
    const { name } = jobOf(this.#cronJob, dueMs).metadata;
    if (this.#active.some((active) => active.name === name) || this.#lastScheduleTime === timestamp(dueMs))
      return nextMs;
    if (spec.concurrencyPolicy === "Forbid" && this.#active.length > 0) {
      const message = "Not starting job because prior execution is running and concurrency policy is Forbid";
      this.#tell("Normal", "JobAlreadyActive", message);
      return nextMs;
    }
    if (spec.concurrencyPolicy === "Replace") await this.#removeActive();
    await this.#create(dueMs);
    return nextMs;
  }

  async #removeActive(): Promise<void> {
    const { namespace } = this.#cronJob.metadata;
    for (const { name = "", uid = "" } of this.#active) {
      const job = await this.#deps.client.get(Job, { namespace, name }, { signal: this.#signal }).catch(ignoreNotFound);
      if (job?.metadata.uid === uid) await this.#remove(job);
      this.#forget(uid);
    }
  }

  async #create(dueMs: number): Promise<void> {
    const { client } = this.#deps;
    const wanted = jobOf(this.#cronJob, dueMs);
    let job: Job | undefined;
    try {
      job = await client.create(Job, wanted, { signal: this.#signal });
      this.#tell("Normal", "SuccessfulCreate", `Created job ${job.metadata.name}`);
    } catch (error) {
      if (!isAlreadyExists(error)) {
        if (!isNamespaceEnding(error) && !this.#signal.aborted) {
          this.#tell("Warning", "FailedCreate", `Error creating job: ${messageOf(error)}`);
        }
        throw error;
      }
      // This controller has created it and died before it could say so.
      job = await client.get(Job, wanted.metadata, { signal: this.#signal });
      if (!isControlledBy(job, this.#cronJob)) return;
    }
    const { uid } = job.metadata;
    const isKnown = isFinished(job.status) || this.#active.some((active) => active.uid === uid);
    if (!isKnown) this.#active = [...this.#active, jobReference(job)];
    this.#lastScheduleTime = timestamp(dueMs);
  }

  async #remove(job: Job): Promise<void> {
    const { uid, name } = job.metadata;
    const options = { preconditions: { uid }, propagationPolicy: "Background", signal: this.#signal } as const;
    await this.#deps.client.delete(Job, job, options).catch(ignoreNotFound);
    this.#tell("Normal", "SuccessfulDelete", `Deleted job ${name}`);
    this.#forget(uid);
  }

  #forget(uid: string): void {
    this.#active = this.#active.filter((active) => active.uid !== uid);
  }

  #tell(type: "Normal" | "Warning", reason: string, message: string): void {
    this.#deps.events.event(referenceTo(CronJob, this.#cronJob), type, reason, message);
  }
}

/** Jobs that have not started come last. */
function byStart(a: Job, b: Job): number {
  const [first, second] = [a.status.startTime ?? "~", b.status.startTime ?? "~"];
  if (first !== second) return first < second ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

const jobReference = ({ metadata }: Job): ObjectReference => ({
  apiVersion: apiVersionOf(Job),
  kind: Job.kind,
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
});

/** As `Thu, 01 Jan 2026 08:00:00 +0000`. */
const utcText = (atMs: number): string => new Date(atMs).toUTCString().replace("GMT", "+0000");
