import { type Job } from "#api/batch/job.ts";
import {
  type PodFailurePolicyOnExitCodesRequirement,
  type PodFailurePolicyOnPodConditionsPattern,
  type PodFailurePolicyRule,
} from "#api/batch/job-spec.ts";
import { type ContainerStatus, type PodCondition } from "#api/core/pod/pod-status.ts";
import { type Pod } from "#api/core/pod.ts";

export interface FailureVerdict {
  readonly action: PodFailurePolicyRule["action"];
  /** Says which rule matched, and why. */
  readonly message: string;
}

/** What the job's policy says about a failed pod; undefined if no rule matches, and the failure counts. */
export function judgeFailure({ spec }: Pick<Job, "spec">, pod: Pod): FailureVerdict | undefined {
  for (const [index, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const cause = matchRule(rule, pod);
    if (cause) return { action: rule.action, message: `${cause} matching ${rule.action} rule at index ${index}` };
  }
  return undefined;
}

/** Whether the failure counts towards the job's backoff limits. */
export const isCounted = (job: Pick<Job, "spec">, pod: Pod): boolean => judgeFailure(job, pod)?.action !== "Ignore";

function matchRule({ onExitCodes, onPodConditions }: PodFailurePolicyRule, pod: Pod): string | undefined {
  const { namespace, name } = pod.metadata;
  if (onExitCodes) {
    const status = withExitCode(pod, onExitCodes);
    const code = status?.state?.terminated?.exitCode;
    return status && `Container ${status.name} for pod ${namespace}/${name} failed with exit code ${code}`;
  }
  const condition = withCondition(pod, onPodConditions ?? []);
  return condition && `Pod ${namespace}/${name} has condition ${condition.type}`;
}

function withExitCode(
  { status }: Pod,
  { containerName, operator, values }: PodFailurePolicyOnExitCodesRequirement,
): ContainerStatus | undefined {
  const all = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  return all.find(({ name, state }) => {
    const code = state?.terminated?.exitCode ?? 0;
    if (code === 0 || (containerName !== undefined && containerName !== name)) return false;
    return values.includes(code) === (operator === "In");
  });
}

/** The first condition of the pod that matches one of the patterns. */
function withCondition(
  pod: Pod,
  patterns: readonly PodFailurePolicyOnPodConditionsPattern[],
): PodCondition | undefined {
  const byType = conditionsOf(pod);
  let first: Placed | undefined;
  for (const { type, status } of patterns) {
    const found = byType.get(type);
    if (found?.condition.status === status && found.place < (first?.place ?? Infinity)) first = found;
  }
  return first?.condition;
}

interface Placed {
  readonly condition: PodCondition;
  readonly place: number;
}

const conditions = new WeakMap<Pod, ReadonlyMap<string, Placed>>();

/** By type, and read once: a policy has hundreds of patterns, and whoever writes a status may add any conditions. */
function conditionsOf(pod: Pod): ReadonlyMap<string, Placed> {
  let known = conditions.get(pod);
  if (!known) {
    known = new Map(pod.status.conditions?.map((condition, place) => [condition.type, { condition, place }]));
    conditions.set(pod, known);
  }
  return known;
}
