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
/** A create that is repeated because of a name conflict prepares the same object again, under another name. */
const sent = new WeakMap<object, AsSent>();

/** Labels that tell the pods of this job from all others, whoever has created them. */
export const generatedLabels = ({ name = "", uid = "" }: ApiObject["metadata"]): Labels => ({
  [oldJobNameLabel]: name,
  [jobNameLabel]: name,
  [oldControllerUidLabel]: uid,
  [controllerUidLabel]: uid,
});

/** Gives a new job the selector and the labels that are its own. What its creator has set stays; validation compares. */
export function setSelector(job: Job): void {
  const { metadata, spec } = job;
  if (spec.manualSelector) return;
  const { metadata: template } = spec.template;
  const first = sent.get(job) ?? {
    labels: template.labels,
    selector: spec.selector,
    isUnlabelled: Object.keys(metadata.labels ?? {}).length === 0 || metadata.labels === template.labels,
  };
  sent.set(job, first);
  template.labels = { ...generatedLabels(metadata), ...first.labels };
  const uid = metadata.uid ?? "";
  spec.selector = { ...first.selector, matchLabels: { [controllerUidLabel]: uid, ...first.selector?.matchLabels } };
  if (first.isUnlabelled) metadata.labels = { ...template.labels };
}
