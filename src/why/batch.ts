import { type Job } from "#api/batch/job.ts";
import { endOf, trueConditions } from "#api/batch/job-status.ts";
import { jobControllerName } from "#api/batch/well-known.ts";
import { findCondition } from "#api/meta/condition.ts";
import { counted, type Explanation } from "./explanation.ts";
import { type CronJobFacts, type JobFacts } from "./facts.ts";
import { explainPod } from "./pod/explain-pod.ts";
import { describeEvent } from "./pod/pod-parts.ts";
import { ago, ahead, msOf } from "./times.ts";
import { gateAdvice, gateOf, lastOf, refusalIn } from "./workload.ts";

/** A job: how it ended, or what it waits for. */
export function explainJob(facts: JobFacts): Explanation {
  const ended = failed(facts) ?? complete(facts);
  return ended ?? managed(facts) ?? suspended(facts) ?? refused(facts) ?? stuck(facts) ?? running(facts);
}

const titleOf = ({ job }: JobFacts): string => `Job ${job.metadata.name}`;

function countsOf({ job: { spec, status } }: JobFacts): string {
  const { active = 0, succeeded = 0, failed = 0 } = status;
  return `${active} active, ${succeeded} of ${spec.completions ?? 1} succeeded, ${failed} failed`;
}

/** It has failed, or is sure to: the condition says why, and its last failed pod says why that failed. */
function failed(facts: JobFacts): Explanation | undefined {
  const { job, nowMs } = facts;
  const conditions = job.status.conditions ?? [];
  const condition = ["Failed", "FailureTarget"]
    .map((type) => findCondition(conditions, type))
    .find((each) => each?.status === "True");
  if (!condition) return undefined;
  const cause = facts.failed && explainPod(facts.failed);
  return {
    hop: cause?.hop,
    state: condition.reason ?? "Failed",
    headline: `${titleOf(facts)} has failed: ${condition.message ?? condition.reason ?? ""}.${cause ? ` ${cause.headline}` : ""}`,
    evidence: [
      `failed ${ago(msOf(condition.lastTransitionTime), nowMs)}`,
      countsOf(facts),
      ...limitsOf(job, condition.reason),
      ...(cause?.evidence ?? []),
    ],
    advice: [...(cause?.advice ?? []), "A failed job does not run again: correct it, delete it and create it again."],
  };
}

/** What was broken, where the message does not say it. */
function limitsOf({ spec, status }: Job, reason: string | undefined): string[] {
  const { failedIndexes = "" } = status;
  const { activeDeadlineSeconds, backoffLimit } = spec;
  return [
    ...(reason === "DeadlineExceeded" ? [`spec.activeDeadlineSeconds: ${activeDeadlineSeconds}`] : []),
    ...(reason === "BackoffLimitExceeded" ? [`spec.backoffLimit: ${backoffLimit}`] : []),
    ...(failedIndexes ? [`failed indexes: ${failedIndexes.slice(0, maxIndexText)}`] : []),
  ];
}
const maxIndexText = 200;

function complete(facts: JobFacts): Explanation | undefined {
  if (!trueConditions(facts.job.status).has("Complete")) return undefined;
  return {
    hop: undefined,
    state: "Complete",
    headline: `${titleOf(facts)} has succeeded: nothing is stuck.`,
    evidence: [`completed ${ago(msOf(facts.job.status.completionTime), facts.nowMs)}`, countsOf(facts)],
    advice: [],
  };
}

/** Our controller leaves it alone. */
function managed(facts: JobFacts): Explanation | undefined {
  const { managedBy = jobControllerName } = facts.job.spec;
  if (managedBy === jobControllerName) return undefined;
  return {
    hop: undefined,
    state: "ManagedByOther",
    headline: `${titleOf(facts)} is left to ${managedBy}, which its spec.managedBy names.`,
    evidence: [`spec.managedBy: ${managedBy}`, countsOf(facts)],
    advice: [
      `Check that ${managedBy} runs. The field cannot be changed: to run it here, create the job again without it.`,
    ],
  };
}

function suspended(facts: JobFacts): Explanation | undefined {
  const { name, namespace } = facts.job.metadata;
  if (!facts.job.spec.suspend) return undefined;
  return {
    hop: undefined,
    state: "Suspended",
    headline: `${titleOf(facts)} runs no pods because it is suspended.`,
    evidence: ["spec.suspend: true"],
    advice: [`\`kubectl patch job ${name} -n ${namespace} -p '{"spec":{"suspend":false}}'\``],
  };
}

/** The API server refuses its pods. */
function refused(facts: JobFacts): Explanation | undefined {
  const event = lastOf(facts.events, ["FailedCreate"]);
  if (!event || event !== facts.events.at(-1)) return undefined;
  const message = refusalIn(event);
  return {
    hop: gateOf(message),
    state: "FailedCreate",
    headline: `${titleOf(facts)} cannot make progress because the API server refuses its pods: ${message}`,
    evidence: [describeEvent(event, facts.nowMs), countsOf(facts)],
    advice: [gateAdvice(message), "The controller retries automatically, with growing pauses."],
  };
}

function stuck(facts: JobFacts): Explanation | undefined {
  const [first] = facts.stuck.map(explainPod).filter(({ hop }) => hop !== undefined);
  if (!first) return undefined;
  return { ...first, headline: `${titleOf(facts)}: ${first.headline}`, evidence: [...first.evidence, countsOf(facts)] };
}

function running(facts: JobFacts): Explanation {
  const { active = 0, failed = 0 } = facts.job.status;
  const isWaiting = active === 0 && failed > 0;
  const cause = isWaiting && facts.failed ? explainPod(facts.failed) : undefined;
  return {
    hop: cause?.hop ?? (active === 0 ? "control" : undefined),
    state: isWaiting ? "BackOff" : active === 0 ? "Starting" : "Running",
    headline: isWaiting
      ? `${titleOf(facts)} waits before it starts the next pod, because ${counted(failed, "pod")} failed.${cause ? ` ${cause.headline}` : ""}`
      : active === 0
        ? `${titleOf(facts)} has not started a pod yet.`
        : `${titleOf(facts)} runs: nothing is stuck.`,
    evidence: [countsOf(facts), ...(cause?.evidence ?? [])],
    advice: isWaiting ? backoffAdvice(facts.job) : [],
  };
}

function backoffAdvice({ spec: { backoffLimit = 6, backoffLimitPerIndex } }: Job): string[] {
  const limit =
    backoffLimitPerIndex === undefined
      ? `The job fails for good after more than ${counted(backoffLimit, "failure")} (spec.backoffLimit).`
      : `An index fails for good after more than ${counted(backoffLimitPerIndex, "failure")} (spec.backoffLimitPerIndex).`;
  return ["Correct what makes its pods fail: the job starts the next one by itself.", limit];
}

/** A CronJob: why it has not created a job, and when it will. */
export function explainCronJob(facts: CronJobFacts): Explanation {
  return cronSuspended(facts) ?? cronFaulty(facts) ?? cronBlocked(facts) ?? cronWaits(facts);
}

const cronTitle = ({ cronJob }: CronJobFacts): string => `CronJob ${cronJob.metadata.name}`;
const scheduleOf = ({ cronJob: { spec } }: CronJobFacts): string =>
  `spec.schedule: ${spec.schedule}${spec.timeZone ? ` (${spec.timeZone})` : " (UTC)"}`;

function cronSuspended(facts: CronJobFacts): Explanation | undefined {
  const { name, namespace } = facts.cronJob.metadata;
  if (!facts.cronJob.spec.suspend) return undefined;
  return {
    hop: undefined,
    state: "Suspended",
    headline: `${cronTitle(facts)} creates no jobs because it is suspended.`,
    evidence: ["spec.suspend: true", scheduleOf(facts)],
    advice: [`\`kubectl patch cronjob ${name} -n ${namespace} -p '{"spec":{"suspend":false}}'\``],
  };
}

const faults = ["FailedCreate", "UnknownTimeZone", "UnparseableSchedule", "MissSchedule", "TooManyMissedTimes"];

function cronFaulty(facts: CronJobFacts): Explanation | undefined {
  const event = lastOf(facts.events, faults);
  const isRecent = event !== undefined && !facts.events.slice(facts.events.indexOf(event) + 1).some(isSuccess);
  if (!event || !isRecent) return undefined;
  return {
    hop: event.reason === "FailedCreate" ? gateOf(event.message) : "control",
    state: event.reason,
    headline: `${cronTitle(facts)} could not create its last job: ${event.message}`,
    evidence: [describeEvent(event, facts.nowMs), scheduleOf(facts)],
    advice: [event.reason === "FailedCreate" ? gateAdvice(event.message) : "Correct what the message names."],
  };
}

const isSuccess = ({ reason }: { readonly reason: string }): boolean => reason === "SuccessfulCreate";

function cronBlocked(facts: CronJobFacts): Explanation | undefined {
  const { metadata, spec, status } = facts.cronJob;
  const [active] = status.active ?? [];
  if (spec.concurrencyPolicy !== "Forbid" || !active) return undefined;
  return {
    hop: "control",
    state: "JobAlreadyActive",
    headline: `${cronTitle(facts)} starts no other job while job ${active.name} runs, because its concurrencyPolicy is Forbid.`,
    evidence: [scheduleOf(facts)],
    advice: [`\`orlop why job/${active.name} -n ${metadata.namespace}\` says what that job waits for.`],
  };
}

function cronWaits(facts: CronJobFacts): Explanation {
  const { nextMs, nowMs, cronJob, lastJob } = facts;
  const last = cronJob.status.lastScheduleTime;
  const evidence = [scheduleOf(facts), last ? `last job ${ago(msOf(last), nowMs)}` : "no job yet"];
  if (nextMs === undefined) {
    const headline = `${cronTitle(facts)} never creates a job, because no day matches its schedule.`;
    return { hop: undefined, state: "NeverDue", headline, evidence, advice: ["Correct spec.schedule."] };
  }
  const next = `the next one comes ${ahead(nextMs, nowMs)}`;
  const end = lastJob && endOf(lastJob.status);
  if (lastJob && end?.type === "Failed") {
    const { name, namespace } = lastJob.metadata;
    const why = end.message ? `: ${end.message}` : "";
    const headline = `${cronTitle(facts)} creates its jobs, but the last one, ${name}, has failed${why}; ${next}.`;
    const advice = [`\`orlop why job/${name} -n ${namespace}\` says why it failed.`];
    return { hop: undefined, state: "LastJobFailed", headline, evidence, advice };
  }
  const headline = `${cronTitle(facts)} waits for the time of its next job: ${next}, and nothing is stuck.`;
  return { hop: undefined, state: "Waiting", headline, evidence, advice: [] };
}
