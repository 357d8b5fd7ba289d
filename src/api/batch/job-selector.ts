import { type LabelSelector } from "#api/meta/label-selector.ts";
import { type ApiObject } from "../resource.ts";
import { type JobSpec } from "./job-spec.ts";

export const jobNameLabel = "batch.kubernetes.io/job-name";
export const controllerUidLabel = "batch.kubernetes.io/controller-uid";
/** The same from before labels had a prefix; clients still read them. */
export const oldJobNameLabel = "job-name";
export const oldControllerUidLabel = "controller-uid";

type Job = ApiObject & { spec: JobSpec };
type Labels = Record<string, string>;

interface AsSent {
  readonly labels: Labels | undefined;
  readonly selector: LabelSelector | undefined;
  /** The job has no labels but those of its template. */
  readonly isUnlabelled: boolean;
}
/** The labels of jobs that had none, and got those of their template. */
const copied = new WeakSet<object>();

/** A job without labels has those of its template, including those that the template gets later. */
export function copyLabels({ metadata, spec }: Job): void {
  const { labels } = spec.template.metadata;
  if (!labels || hasLabels(metadata)) return;
  metadata.labels = { ...labels };
  copied.add(metadata.labels);
}

const hasLabels = ({ labels }: ApiObject["metadata"]): boolean => Object.keys(labels ?? {}).length > 0;

/** A create that is repeated because of a name conflict prepares the same object again, under another name. */
const sent = new WeakMap<object, AsSent>();

/** Labels that tell the pods of this job from all others, whoever has created them. */
export const generatedLabels = ({ name = "", uid = "" }: ApiObject["metadata"]): Labels => ({
  [oldJobNameLabel]: name,
  [jobNameLabel]: name,
  [oldControllerUidLabel]: uid,
  [controllerUidLabel]: uid,
});

/** Gives a new job the selector and labels that are its own. What its creator has set stays, and is checked later. */
export function setSelector(job: Job): void {
  const { metadata, spec } = job;
  if (spec.manualSelector) return;
  const { metadata: template } = spec.template;
  const first = sent.get(job) ?? {
    labels: template.labels,
    selector: spec.selector,
    isUnlabelled: !hasLabels(metadata) || (metadata.labels !== undefined && copied.has(metadata.labels)),
  };
  sent.set(job, first);
  template.labels = { ...generatedLabels(metadata), ...first.labels };
  const uid = metadata.uid ?? "";
  spec.selector = { ...first.selector, matchLabels: { [controllerUidLabel]: uid, ...first.selector?.matchLabels } };
  if (first.isUnlabelled) metadata.labels = { ...template.labels };
}
