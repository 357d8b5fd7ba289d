import { type JobCondition } from "#api/batch/job-status.ts";
import { jobControllerName } from "#api/batch/well-known.ts";
import { humanDuration } from "#api/meta/age.ts";
import { counted, type Explain, type Explanation, firstOf } from "./explanation.ts";
import { type JobFacts } from "./facts.ts";
import { explainPod } from "./pod/explain-pod.ts";
import { refusalInEvents } from "./refused-pods.ts";
import { ago, msOf } from "./times.ts";

/** How a Job ended, or what it waits for: its own state first, then its pods. */
export const explainJob = (facts: JobFacts): Explanation => firstOf(families, facts) ?? running(facts);

const families: readonly Explain<JobFacts>[] = [failed, complete, foreign, suspended, refused, stuckPods, backingOff];

const titleOf = ({ job }: JobFacts): string => `Job ${job.metadata.name}`;

function conditionOf({ job }: JobFacts, type: string): JobCondition | undefined {
  return job.status.conditions?.find((each) => each.type === type && each.status === "True");
}

/** Counts of its pods, with the limits that belong to them. */
function tally({ job: { spec, status } }: JobFacts): string {
  const { succeeded = 0, failed = 0, active = 0, failedIndexes } = status;
  const wanted = spec.completions === undefined ? "" : ` of ${spec.completions}`;
  const limit =
    spec.backoffLimitPerIndex === undefined
      ? `backoffLimit: ${spec.backoffLimit}`
      : `backoffLimitPerIndex: ${spec.backoffLimitPerIndex}`;
  const indexes = failedIndexes ? `, failed indexes: ${failedIndexes}` : "";
  return `${succeeded}${wanted} succeeded, ${active} active, ${failed} failed (${limit})${indexes}`;
}

/** What the last pod that failed has to say. */
function lastFailure({ failed }: JobFacts): readonly string[] {
  if (!failed) return ["none of its failed pods is left"];
  const { headline, evidence } = explainPod(failed);
  return [headline, ...evidence];
}

const withoutStop = (message: string): string => message.replace(/\.$/, "");

function failed(facts: JobFacts): Explanation | undefined {
  const end = conditionOf(facts, "Failed");
  const condition = end ?? conditionOf(facts, "FailureTarget");
  if (!condition) return undefined;
  const { reason = "", message = "", lastTransitionTime } = condition;
  const what = end
    ? `failed ${ago(msOf(lastTransitionTime), facts.nowMs)}`
    : "is failing, and its pods are being ended";
  const { activeDeadlineSeconds } = facts.job.spec;
  const isLate = reason === "DeadlineExceeded";
  return {
    hop: "run",
    state: reason || "Failed",
    headline: `${titleOf(facts)} ${what}: ${withoutStop(message) || reason}.`,
    evidence: [
      tally(facts),
      ...(isLate ? [`spec.activeDeadlineSeconds: ${activeDeadlineSeconds}`] : lastFailure(facts)),
    ],
    advice: [
      isLate ? "Raise spec.activeDeadlineSeconds, or find out what takes so long." : "Correct what its pods report.",
      "A job that has failed is not tried again: delete it and create it anew.",
    ],
  };
}

function complete(facts: JobFacts): Explanation | undefined {
  if (!conditionOf(facts, "Complete")) return undefined;
  const { startTime, completionTime } = facts.job.status;
  const [from, to] = [msOf(startTime), msOf(completionTime)];
  const took = from !== undefined && to !== undefined ? ` in ${humanDuration(to - from)}` : "";
  const headline = `${titleOf(facts)} completed ${ago(to, facts.nowMs)}${took}: nothing is stuck.`;
  return { hop: undefined, state: "Complete", headline, evidence: [tally(facts)], advice: [] };
}

/** Another controller is responsible for it. */
function foreign(facts: JobFacts): Explanation | undefined {
  const { managedBy = jobControllerName } = facts.job.spec;
  if (managedBy === jobControllerName) return undefined;
  const headline = `${titleOf(facts)} is left to another controller: ${managedBy}.`;
  const advice = ["Check that this controller runs. spec.managedBy cannot be changed."];
  return { hop: "control", state: "ManagedElsewhere", headline, evidence: [tally(facts)], advice };
}

function suspended(facts: JobFacts): Explanation | undefined {
  const { metadata, spec } = facts.job;
  if (!spec.suspend) return undefined;
  const { name, namespace } = metadata;
  return {
    hop: "control",
    state: "Suspended",
    headline: `${titleOf(facts)} is suspended: it runs no pods.`,
    evidence: ["spec.suspend: true", tally(facts)],
    advice: [`\`kubectl patch job ${name} -n ${namespace} --type=merge -p '{"spec":{"suspend":false}}'\``],
  };
}

function refused(facts: JobFacts): Explanation | undefined {
  return refusalInEvents(titleOf(facts), facts);
}

/** The pod that is furthest behind represents the others. */
function stuckPods(facts: JobFacts): Explanation | undefined {
  const first = facts.stuck.map(explainPod).find(({ hop }) => hop !== undefined);
  return (
    first && {
      ...first,
      headline: `${titleOf(facts)} is held up by one of its pods. ${first.headline}`,
      evidence: [...first.evidence, tally(facts)],
    }
  );
}

/** After a failure, the next pod is created after a pause that doubles every time. */
function backingOff(facts: JobFacts): Explanation | undefined {
  if (!facts.failed || facts.active > 0) return undefined;
  return {
    hop: "run",
    state: "BackOff",
    headline: `${titleOf(facts)} waits before it tries again, because ${counted(facts.job.status.failed ?? 1, "pod")} failed.`,
    evidence: [tally(facts), ...lastFailure(facts)],
    advice: ["The pause doubles with every failure, from 10s to 10m. Beyond the limit, the job fails."],
  };
}

function running(facts: JobFacts): Explanation {
  const { active } = facts;
  const headline =
    active > 0
      ? `${titleOf(facts)} is running ${counted(active, "pod")}: nothing is stuck.`
      : `${titleOf(facts)} has no pods yet: its controller has not created them.`;
  const advice = active > 0 ? [] : ["Ask again in a moment. If this persists, check that the controllers are running."];
  const place = active > 0 ? { hop: undefined, state: "Running" } : { hop: "control" as const, state: "Unobserved" };
  return { ...place, headline, evidence: [tally(facts)], advice };
}
