import { type Container } from "#api/core/container/container.ts";
import { type Affinity } from "#api/core/pod/affinity.ts";
import { PodSpec } from "#api/core/pod/pod-spec.ts";
import { PodTemplateSpec } from "#api/core/pod-template.ts";
import { type Cursor } from "#api/cursor.ts";
import { semanticEqual } from "#api/meta/equal.ts";
import { LabelSelector } from "#api/meta/label-selector.ts";
import { int32, string } from "#schema/types.ts";
import { type ApiObject } from "../resource.ts";
import { type JobSpec, PodFailurePolicy, SuccessPolicy } from "./job-spec.ts";
import { type JobStatus, trueConditions } from "./job-status.ts";
import { hasNewLabels, validateGeneratedSelector } from "./validate-job.ts";

type Job = ApiObject & { spec: JobSpec; status: JobStatus };

/** Faults of a change of a job. Nearly all of what its pods depend on cannot be changed. */
export function validateJobUpdate(job: Cursor<Job>, old: Job): void {
  validateGeneratedSelector(job, !hasNewLabels(old));
  const at = job.field("spec");
  validateCompletions(at, old.spec);
  at.field("selector").immutable(LabelSelector, old.spec.selector);
  validateTemplate(at, old);
  at.field("completionMode").immutable(string(), old.spec.completionMode);
  at.field("podFailurePolicy").immutable(PodFailurePolicy, old.spec.podFailurePolicy);
  at.field("backoffLimitPerIndex").immutable(int32(), old.spec.backoffLimitPerIndex);
  at.field("managedBy").immutable(string(), old.spec.managedBy);
  at.field("successPolicy").immutable(SuccessPolicy, old.spec.successPolicy);
}

/** An indexed job can be scaled: the numbers of pods and of completions change together. */
function validateCompletions(at: Cursor<JobSpec>, old: JobSpec): void {
  const { completionMode, completions, parallelism } = at.value;
  if (completionMode !== "Indexed") at.field("completions").immutable(int32(), old.completions);
  else if (completions !== undefined && completions !== old.completions && completions !== parallelism) {
    at.field("completions").invalid("can only be modified in tandem with spec.parallelism");
  }
}

function validateTemplate(at: Cursor<JobSpec>, old: Job): void {
  const { template } = at.value;
  if (!isIdle(old)) at.field("template").immutable(PodTemplateSpec, old.spec.template);
  else if (!semanticEqual(PodSpec, template.spec, withPlacementOf(old.spec.template.spec, template.spec))) {
    at.under("template.spec").as(template.spec).invalid("field is immutable");
  }
}

/** A suspended job without pods: where they will run, and with which resources, is still open. */
function isIdle({ spec, status }: Job): boolean {
  if (!spec.suspend || status.active) return false;
  return status.startTime === undefined || trueConditions(status).has("Suspended");
}

/** The old spec with everything from the new one that may change while a job is idle. */
function withPlacementOf(old: PodSpec, now: PodSpec): unknown {
  const { nodeSelector, tolerations, schedulingGates } = now;
  return {
    ...old,
    nodeSelector,
    tolerations,
    schedulingGates,
    affinity: withNodeAffinityOf(old.affinity, now.affinity),
    containers: withResourcesOf(old.containers, now.containers),
    initContainers: withResourcesOf(old.initContainers, now.initContainers),
  };
}

function withNodeAffinityOf(old: Affinity | undefined, now: Affinity | undefined): unknown {
  const { nodeAffinity: _old, ...rest } = old ?? {};
  if (now) return { ...rest, nodeAffinity: now.nodeAffinity };
  return Object.keys(rest).length > 0 ? rest : undefined;
}

function withResourcesOf(old: readonly Container[] = [], now: readonly Container[] = []): unknown {
  if (old.length !== now.length) return old;
  return old.map((container, index) => {
    const { name, resources } = now[index] ?? {};
    return name === container.name ? { ...container, resources } : container;
  });
}
