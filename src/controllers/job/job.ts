import { Job } from "#api/batch/job.ts";
import { isFinished, type JobStatus, trueConditions } from "#api/batch/job-status.ts";
import { jobControllerName, jobTrackingFinalizer } from "#api/batch/well-known.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { ignoreNotFound } from "#api/status.ts";
import { referenceTo } from "#client/events.ts";
import { claim } from "#controllers/shared/claim.ts";
import { adopters, ownedBy } from "#controllers/shared/dependents.ts";
import { PodWriter } from "#controllers/shared/owned-pods.ts";
import { writeStatusIfChanged } from "#controllers/shared/write-status.ts";
import { timestamp } from "#lib/async/clock.ts";
import { slowStart } from "#lib/async/slow-start.ts";
import { allOrFirstError } from "#lib/async/tasks.ts";
import { type Informer } from "#runtime/informer.ts";
import { type Again, againAfter, type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { Pace } from "../pace.ts";
import { countPods, type PodCount } from "./count-pods.ts";
import { completionTarget, deadlineMs, findTarget, type Target } from "./find-target.ts";
import { isTracked } from "./job-pod.ts";
import { jobStatus, type LivePods } from "./job-status.ts";
import { nothing, type PodPlan, planPods } from "./plan-pods.ts";
import { podOfJob } from "./pod-of-job.ts";
import { type Survey, surveyPods } from "./survey.ts";

/** Runs the pods of a job until enough of them have succeeded, and counts each of them exactly once. */
export function jobController(deps: ReconcilerDeps): Reconciler<Job> {
  const pods = deps.informers.of(Pod);
  const jobs = deps.informers.of(Job);
  const pace = new Pace(deps.clock);
  return {
    name: "job",
    reconciles: Job,
    owns: [Pod],
    watches: [watch(Pod, (change) => adopters(change, jobs, selectorOf))],

    async reconcile(job, signal) {
      if (!isOurs(job) || isFinished(job.status)) return pace.forget(job.metadata);
      const waitMs = pace.waitMs(job);
      if (waitMs > 0) return againAfter(waitMs);
      const again = await syncJob(deps, { job: started(job, deps.clock.now()), pods }, signal);
      pace.settled(job, ownedBy(pods, job).length);
      return again;
    },
    async gone(ref) {
      pace.forget(ref);
    },
  };
}

const selectorOf = ({ spec }: Job) => spec.selector ?? {};

export const isOurs = ({ spec }: Job): boolean => (spec.managedBy ?? jobControllerName) === jobControllerName;

function started(job: Job, nowMs: number): Job {
  if (job.status.startTime || job.spec.suspend) return job;
  return { ...job, status: { ...job.status, startTime: timestamp(nowMs) } };
}

interface Round {
  readonly job: Job;
  readonly pods: Informer<Pod>;
}

async function syncJob(deps: ReconcilerDeps, { job, pods }: Round, signal: AbortSignal): Promise<Again | undefined> {
  const nowMs = deps.clock.now();
  const request = { owner: job, ownerResource: Job, dependents: pods, selector: selectorOf(job) };
  const seenRevision = pods.revision;
  const survey = surveyPods(job, await claim(deps.client, request, signal));
  const found = findTarget(job, survey, nowMs);
  const isEnding = job.metadata.deletionTimestamp !== undefined;
  const running = isEnding ? nothing : planPods(job, survey, nowMs);
  const plan = found ? { ...nothing, remove: survey.active } : running;
  const { live, error } = await carryOut(deps, { job, survey, plan }, signal);

  // Pods that could not be deleted must stay tracked, so the end has to wait for them.
  const target = error ? undefined : (found ?? completionTarget(job, survey.succeeded, live.active));
  const count = countPods(job, survey, target);
  if (isStale(job, seenRevision, count)) return againAfter(staleRetryMs);
  const status = jobStatus(job, { survey, live, count, target, nowMs });
  await settle(deps, { job, status, count }, signal);
  if (error) throw error;
  return againAfter(nextCheckMs({ ...job, status }, { plan, target, nowMs }));
}

const staleRetryMs = 100;

/**
 * A controller that takes over may see the status before it sees what the pods were when that was written. It would then
 * count pods that are counted already. What matters is how far the pods were when they were read: since then requests
 * were awaited, and the informer may have caught up.
 */
function isStale({ metadata }: Job, seenRevision: number, { moved, release }: PodCount): boolean {
  if (moved.succeeded + moved.failed + release.length === 0) return false;
  return seenRevision < Number(metadata.resourceVersion);
}

interface Outcome {
  readonly live: LivePods;
  readonly error?: unknown;
}

/** Creates or deletes pods, and says how many there are then. */
async function carryOut(
  deps: ReconcilerDeps,
  { job, survey, plan }: { readonly job: Job; readonly survey: Survey; readonly plan: PodPlan },
  signal: AbortSignal,
): Promise<Outcome> {
  const writer = new PodWriter(deps, { resource: Job, owner: job }, signal);
  const removed: Pod[] = [];
  const remove = async (pod: Pod): Promise<void> => {
    await writer.removeUnchanged(pod);
    removed.push(pod);
  };
  let created = 0;
  let error: unknown;
  try {
    await allOrFirstError(plan.remove.map(remove));
    await slowStart(plan.create.length, async (at) => {
      const index = plan.create[at];
      const replaced = index === undefined ? undefined : survey.toReplace.get(index);
      if (await writer.create(podOfJob(job, index, replaced))) created++;
    });
  } catch (failure) {
    if (signal.aborted) throw failure;
    error = failure;
  }
  const live = {
    active: survey.active.length - removed.length + created,
    ready: survey.ready - removed.filter(isReady).length,
    terminating: survey.terminating.length + removed.length,
  };
  return { live, error };
}

/** Writes the status, then lets go of the pods that it names. */
async function settle(
  deps: ReconcilerDeps,
  { job, status, count }: { readonly job: Job; readonly status: JobStatus; readonly count: PodCount },
  signal: AbortSignal,
): Promise<void> {
  const written = await writeStatusIfChanged(deps, { resource: Job, object: job, status }, signal);
  if (!written) return;
  tellOf(deps, job, status);
  await allOrFirstError(count.release.map((pod) => releasePod(deps, pod, signal)));
}

/** Lets the pod vanish when it is deleted. */
export async function releasePod({ client }: Pick<ReconcilerDeps, "client">, pod: Pod, signal: AbortSignal) {
  if (!isTracked(pod)) return;
  const metadata = { uid: pod.metadata.uid, "$deleteFromPrimitiveList/finalizers": [jobTrackingFinalizer] };
  await client.patch(Pod, pod, { type: "strategic", body: { metadata } }, { signal }).catch(ignoreNotFound);
}

/** Reports a change of the job's state in an event. */
function tellOf({ events }: ReconcilerDeps, job: Job, status: JobStatus): void {
  const before = trueConditions(job.status);
  const now = trueConditions(status);
  const about = referenceTo(Job, job);
  const isNew = (type: string): boolean => now.has(type) && !before.has(type);
  if (isNew("Suspended")) events.event(about, "Normal", "Suspended", "Job suspended");
  if (before.has("Suspended") && !now.has("Suspended")) events.event(about, "Normal", "Resumed", "Job resumed");
  if (isNew("Complete")) {
    if ((status.succeeded ?? 0) > (job.spec.completions ?? Infinity)) {
      const message = "Too many succeeded pods running after completion count reached";
      events.event(about, "Warning", "TooManySucceededPods", message);
    }
    events.event(about, "Normal", "Completed", "Job completed");
  }
  const failed = status.conditions?.find(({ type }) => type === "Failed");
  if (failed && isNew("Failed")) events.event(about, "Warning", failed.reason ?? "", failed.message ?? "");
}

/** When there is something to do although nothing changes: a deadline, or the end of a backoff. */
function nextCheckMs(
  job: Job,
  { plan, target, nowMs }: { readonly plan: PodPlan; readonly target: Target | undefined; readonly nowMs: number },
): number {
  if (target) return Infinity;
  return Math.min(plan.waitMs ?? Infinity, Math.max(0, deadlineMs(job, nowMs) ?? Infinity));
}
