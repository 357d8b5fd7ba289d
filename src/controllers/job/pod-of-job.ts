import { Job } from "#api/batch/job.ts";
import {
  completionIndexAnnotation,
  indexFailureCountAnnotation,
  indexIgnoredFailureCountAnnotation,
  jobTrackingFinalizer,
} from "#api/batch/well-known.ts";
import { type Pod } from "#api/core/pod.ts";
import { type PodTemplateSpec } from "#api/core/pod-template.ts";
import { type InputOf } from "#api/resource.ts";
import { podFrom } from "#controllers/shared/owned-pods.ts";
import { failuresBefore } from "./job-pod.ts";
import { isCounted } from "./pod-failure-policy.ts";

/** The part of a generated name before its random end. */
const maxPrefix = 58;

/** The pod that a job creates, for one of its indexes if it has indexes. */
export function podOfJob(job: Job, index: number | undefined, replaced: Pod | undefined): InputOf<Pod> {
  const { template } = job.spec;
  const pod = podFrom(Job, job, index === undefined ? template : withIndex(job, { template, index, replaced }));
  const { finalizers = [] } = pod.metadata;
  const isTracked = finalizers.includes(jobTrackingFinalizer);
  const metadata = { ...pod.metadata, finalizers: isTracked ? finalizers : [...finalizers, jobTrackingFinalizer] };
  if (index === undefined) return { ...pod, metadata };
  const suffix = `-${index}-`;
  const generateName = `${job.metadata.name.slice(0, maxPrefix - suffix.length)}${suffix}`;
  return { ...pod, metadata: { ...metadata, generateName } };
}

interface IndexedPod {
  readonly template: PodTemplateSpec;
  readonly index: number;
  readonly replaced: Pod | undefined;
}

function withIndex(job: Job, { template, index, replaced }: IndexedPod): PodTemplateSpec {
  const { metadata, spec } = template;
  const own = { [completionIndexAnnotation]: String(index) };
  const failures = job.spec.backoffLimitPerIndex === undefined ? {} : failureCounts(job, replaced);
  return {
    ...template,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...own },
      annotations: { ...metadata.annotations, ...own, ...failures },
    },
    spec: {
      ...spec,
      hostname: `${job.metadata.name}-${index}`,
      containers: spec.containers.map(withIndexVariable),
      ...(spec.initContainers ? { initContainers: spec.initContainers.map(withIndexVariable) } : {}),
    },
  };
}

/** The failures of the index so far, with that of the pod that is replaced. */
function failureCounts(job: Job, replaced: Pod | undefined): Record<string, string> {
  const before = replaced ? failuresBefore(replaced) : { counted: 0, ignored: 0 };
  const isMore = replaced !== undefined && isCounted(job, replaced);
  const ignored = before.ignored + (replaced && !isMore ? 1 : 0);
  return {
    [indexFailureCountAnnotation]: String(before.counted + (isMore ? 1 : 0)),
    ...(ignored > 0 ? { [indexIgnoredFailureCountAnnotation]: String(ignored) } : {}),
  };
}

type Container = PodTemplateSpec["spec"]["containers"][number];

const indexVariable = "JOB_COMPLETION_INDEX";
function withIndexVariable<C extends Pick<Container, "env">>(container: C): C {
  const { env = [] } = container;
  if (env.some(({ name }) => name === indexVariable)) return container;
  const fieldRef = { apiVersion: "v1", fieldPath: `metadata.labels['${completionIndexAnnotation}']` };
  return { ...container, env: [...env, { name: indexVariable, valueFrom: { fieldRef } }] };
}
