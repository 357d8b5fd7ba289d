import {
  type FieldError,
  type FieldPath,
  forbiddenValue,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "#schema/field-error.ts";
import { type PodTemplateSpec } from "../core/pod-template.ts";
import { validatePodTemplate } from "../core/validate-pod.ts";
import { isEmptySelector, type LabelSelector, matches, validateLabelSelector } from "../meta/label-selector.ts";
import { dns1123Label } from "../meta/names.ts";
import { type ApiObject, type Column } from "../resource.ts";

interface Templated {
  selector: LabelSelector;
  template: PodTemplateSpec;
}

/** What all kinds that keep pods running ask of their selector and template. */
export function* validateSelectorAndTemplate({ selector, template }: Templated, path: FieldPath): Iterable<FieldError> {
  // An empty selector reads the same as a missing one, and would match every pod there is.
  const isMissing = isEmptySelector(selector);
  if (isMissing) yield requiredValue(path.child("selector"));
  const faults = [...validateLabelSelector(selector, path.child("selector"))];
  yield* faults;
  const at = path.child("template");
  const { labels } = template.metadata;
  if (faults.length > 0) {
    yield invalidValue(path.child("selector"), selector, "invalid label selector");
  } else if (isMissing || !matches(selector, labels)) {
    yield invalidValue(at.child("metadata", "labels"), labels, "`selector` does not match template `labels`");
  }
  yield* validatePodTemplate(template, at);
  const { restartPolicy, activeDeadlineSeconds } = template.spec;
  if (restartPolicy !== "Always") {
    yield unsupportedValue(at.child("spec", "restartPolicy"), restartPolicy, ["Always"]);
  }
  if (activeDeadlineSeconds !== undefined) {
    const detail = "activeDeadlineSeconds in ReplicaSet is not Supported";
    yield forbiddenValue(at.child("spec", "activeDeadlineSeconds"), detail);
  }
}

interface WithTemplate extends ApiObject {
  spec: { template: PodTemplateSpec };
}

/** The wide columns that show what runs in the pods. */
export const containerColumns: readonly Column<WithTemplate>[] = [
  {
    name: "Containers",
    type: "string",
    priority: 1,
    description: "Names of the containers in the template.",
    value: ({ spec }) => spec.template.spec.containers.map(({ name }) => name).join(","),
  },
  {
    name: "Images",
    type: "string",
    priority: 1,
    description: "Images of the containers in the template.",
    value: ({ spec }) => spec.template.spec.containers.map(({ image }) => image ?? "").join(","),
  },
];

/** Pods are named after it, so its name should be good for host names. */
export function* nameWarnings({ metadata: { name = "" } }: ApiObject): Iterable<string> {
  const faults = dns1123Label.all(name);
  if (faults.length === 0) return;
  yield `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${faults.join(" ")}]`;
}

/** Counts of a status, none of which can be negative or greater than the whole. */
export function* validateCounts(
  counts: Readonly<Record<string, number | undefined>>,
  { path, parts }: { path: FieldPath; parts: readonly string[] },
): Iterable<FieldError> {
  for (const [name, count = 0] of Object.entries(counts)) {
    if (count < 0) yield invalidValue(path.child(name), count, "must be greater than or equal to 0");
  }
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = counts;
  for (const name of parts) {
    const count = counts[name] ?? 0;
    if (count > replicas) yield invalidValue(path.child(name), count, "cannot be greater than status.replicas");
  }
  if (availableReplicas > readyReplicas) {
    yield invalidValue(path.child("availableReplicas"), availableReplicas, "cannot be greater than readyReplicas");
  }
}
