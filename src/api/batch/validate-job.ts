import { type Cursor } from "#api/cursor.ts";
import { validateLabelSelector } from "#api/meta/label-selector.ts";
import { dns1123Label } from "#api/meta/names.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { own } from "#lib/data/own.ts";
import { type ApiObject } from "../resource.ts";
import {
  controllerUidLabel,
  generatedLabels,
  jobNameLabel,
  oldControllerUidLabel,
  oldJobNameLabel,
} from "./job-selector.ts";
import { type JobSpec } from "./job-spec.ts";
import { validateJobSpec } from "./validate-job-spec.ts";

type Job = ApiObject & { spec: JobSpec };

/** Every fault of a job, new or changed. */
export function validateJob(at: Cursor<Job>): void {
  const spec = at.field("spec");
  validateJobSpec(spec);
  validateSelector(spec);
  validatePodNames(at);
}

function validateSelector(at: Cursor<JobSpec>): void {
  const { selector, template } = at.value;
  if (!selector) at.field("selector").missing();
  const { faultCount } = at;
  at.on("selector", validateLabelSelector);
  if (at.faultCount > faultCount || matches(selector, template.metadata.labels)) return;
  const labels = at.under("template", "metadata", "labels").as(template.metadata.labels);
  labels.invalid("`selector` does not match template `labels`");
}

/** The pods of an indexed job have host names that end in their index. */
function validatePodNames(at: Cursor<Job>): void {
  const { metadata, spec } = at.value;
  if (spec.completionMode !== "Indexed" || !spec.completions || spec.completions < 0) return;
  const longest = `${metadata.name ?? ""}-${spec.completions - 1}`;
  if (dns1123Label(longest) === undefined) return;
  const name = at.under("metadata", "name").as(metadata.name ?? "");
  name.invalid(`will not able to create pod with invalid DNS label: ${longest}`);
}

const oldLabels = [oldControllerUidLabel, oldJobNameLabel];
const newLabels = [controllerUidLabel, jobNameLabel];

/** Whether the pods have the labels with a prefix, as those of all jobs but the oldest do. */
export const hasNewLabels = ({ spec }: Job): boolean =>
  newLabels.every((key) => own(spec.template.metadata.labels ?? {}, key) !== undefined);

/** Selector and labels that the server has set must be as it has set them. */
export function validateGeneratedSelector(at: Cursor<Job>, isOld = false): void {
  const { metadata, spec } = at.value;
  if (spec.manualSelector || !spec.selector) return;
  if (!metadata.uid) at.under("metadata", "uid").missing();
  const generated = generatedLabels(metadata);
  const keys = isOld ? oldLabels : [...oldLabels, ...newLabels];
  const { labels = {} } = spec.template.metadata;
  const place = at.under("spec", "template", "metadata", "labels");
  for (const key of keys) {
    const has = own(labels, key);
    const detail = `must be '${generated[key]}'`;
    if (has === undefined) place.key(key, undefined).missing(detail);
    else if (has !== generated[key]) place.key(key, labels).invalid(detail);
  }
  const expected = Object.fromEntries(keys.map((key) => [key, generated[key] ?? ""]));
  if (!matches(spec.selector, expected)) at.field("spec").field("selector").invalid("`selector` not auto-generated");
}
