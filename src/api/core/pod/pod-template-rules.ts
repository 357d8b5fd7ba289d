import { type Cursor } from "#api/cursor.ts";
import { column, numberColumn, wide } from "#api/meta/columns.ts";
import { isEmptySelector, type LabelSelector, validateLabelSelector } from "#api/meta/label-selector.ts";
import { dns1123Label } from "#api/meta/names.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { type ApiObject, type Column } from "#api/resource.ts";
import { containerImages, containerNames, type PodTemplateSpec } from "../pod-template.ts";
import { warnOfSpec } from "./pod-warnings.ts";
import { validatePodTemplate } from "./validate/validate-pod.ts";

interface Templated {
  selector: LabelSelector;
  template: PodTemplateSpec;
}

/** Checks of selector and template for all kinds that keep pods running. */
export function validateSelectorAndTemplate(at: Cursor<Templated>): void {
  const { selector, template } = at.value;
  // An empty selector reads the same as a missing one, and would match every pod there is.
  const isMissing = isEmptySelector(selector);
  if (isMissing) at.field("selector").missing();
  const { faultCount } = at;
  validateLabelSelector(at.field("selector"));
  const { labels } = template.metadata;
  if (at.faultCount > faultCount) at.field("selector").invalid("invalid label selector");
  else if (isMissing || !matches(selector, labels)) {
    const place = at.under("template", "metadata", "labels");
    place.as(labels).invalid("`selector` does not match template `labels`");
  }
  validateLastingTemplate(at.field("template"), "activeDeadlineSeconds in ReplicaSet is not Supported");
}

/** The template of pods that run until they are no longer wanted. */
export function validateLastingTemplate(template: Cursor<PodTemplateSpec>, noDeadline: string): void {
  validatePodTemplate(template);
  const at = template.field("spec");
  at.field("restartPolicy").oneOf(["Always"]);
  at.on("activeDeadlineSeconds", (at) => at.forbidden(noDeadline));
}

/** How many pods there should be, are, and are ready. */
export const replicaColumns: readonly Column<Replicated>[] = [
  numberColumn("Desired", "Number of desired pods.", ({ spec }) => spec.replicas),
  numberColumn("Current", "Number of pods that exist.", ({ status }) => status.replicas),
  numberColumn("Ready", "Number of pods that are ready.", ({ status }) => status.readyReplicas ?? 0),
];
interface Replicated extends ApiObject {
  spec: { replicas: number };
  status: { replicas: number; readyReplicas?: number };
}

interface WithTemplate extends ApiObject {
  spec: { template?: PodTemplateSpec };
}

/** The wide columns that show what runs in the pods. */
export const containerColumns: readonly Column<WithTemplate>[] = [
  wide(column("Containers", "Names of the containers in the template.", ({ spec }) => containerNames(spec.template))),
  wide(column("Images", "Images of the containers in the template.", ({ spec }) => containerImages(spec.template))),
];

/** Pods are named after it, so its name should be good for host names. */
export function warnOfName(at: Cursor<ApiObject>, old: ApiObject | undefined): void {
  const faults = dns1123Label.all(at.value.metadata.name ?? "");
  if (old || faults.length === 0) return;
  const text = "this is used in Pod names and hostnames, which can result in surprising behavior";
  at.under("metadata", "name").warn(`${text}; a DNS label is recommended: [${faults.join(" ")}]`);
}

/** Warnings about the template of a new object, or of one whose spec has changed. */
export function warnOfTemplate(
  at: Cursor<ApiObject>,
  old: ApiObject | undefined,
  template: Cursor<Pick<PodTemplateSpec, "metadata" | "spec">>,
): void {
  if (!old || at.value.metadata.generation !== old.metadata.generation) warnOfSpec(template);
}

interface Counts {
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
}

/** Counts of a status, none of which can be negative or greater than the whole. Faults name the ready ones as told. */
export function validateCounts<S extends Counts>(
  at: Cursor<S>,
  parts: readonly (keyof S & string)[],
  ready = "readyReplicas",
): void {
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = at.value;
  for (const name in at.value) if (typeof at.value[name] === "number") at.field(name).atLeast(0);
  for (const name of parts) {
    if (Number(at.value[name] ?? 0) > replicas) at.field(name).invalid("cannot be greater than status.replicas");
  }
  if (availableReplicas > readyReplicas) {
    at.field("availableReplicas").invalid(`cannot be greater than ${ready}`);
  }
}
