import { validateLastingTemplate } from "#api/core/pod/pod-template-rules.ts";
import { validateClaimSpec } from "#api/core/pod/validate/volumes/validate-volume-claim-spec.ts";
import { type PodTemplateSpec } from "#api/core/pod-template.ts";
import { type Volume } from "#api/core/volume/volume.ts";
import { semanticEqual } from "#api/meta/equal.ts";
import {
  type IntOrString,
  percentOf,
  validateAtMost100Percent,
  validateIntOrPercent,
} from "#api/meta/int-or-string.ts";
import { isEmptySelector, validateLabelSelector } from "#api/meta/label-selector.ts";
import { dns1123Label } from "#api/meta/names.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { type Cursor } from "../cursor.ts";
import { StatefulSetSpec, type UpdateStrategy } from "./stateful-set-spec.ts";

interface StatefulSet {
  spec: StatefulSetSpec;
}

/** Every fault of a StatefulSet, new or changed. */
export function validateStatefulSet(set: Cursor<StatefulSet>): void {
  const at = set.field("spec");
  const { podManagementPolicy: policy, selector, template } = at.value;
  if (policy !== "OrderedReady" && policy !== "Parallel") {
    at.field("podManagementPolicy").invalid("must be 'OrderedReady' or 'Parallel'");
  }
  validateStrategy(at.field("updateStrategy"));
  // An empty selector reads the same as a missing one, which matches nothing.
  const isMissing = isEmptySelector(selector);
  if (isMissing) at.field("selector").missing();
  const { faultCount } = at;
  validateLabelSelector(at.field("selector"));
  if (at.faultCount > faultCount) {
    at.field("selector").invalid("");
    return;
  }
  const { labels } = template.metadata;
  if (isMissing || !matches(selector, labels)) {
    const place = at.under("template", "metadata", "labels").as(labels);
    place.invalid("`selector` does not match template `labels`");
  }
  const pods = at.field("template").as(asForPods(at.value));
  validateLastingTemplate(pods, "activeDeadlineSeconds in StatefulSet is not Supported");
}

function validateStrategy(at: Cursor<UpdateStrategy>): void {
  const { type, rollingUpdate } = at.value;
  // As upstream's own type shows it.
  const { partition: Partition = 0, maxUnavailable: MaxUnavailable = null } = rollingUpdate ?? {};
  const settings = rollingUpdate ? { Partition, MaxUnavailable } : null;
  if (type === "OnDelete") {
    const text = "only allowed for updateStrategy 'RollingUpdate'";
    at.on("rollingUpdate", (at) => at.invalid(text, settings));
  } else if (type === "RollingUpdate") {
    at.on("rollingUpdate", (at) => at.on("maxUnavailable", validateMaxUnavailable));
  } else {
    at.invalid("must be 'RollingUpdate' or 'OnDelete'", { Type: type ?? "", RollingUpdate: settings });
  }
}

function validateMaxUnavailable(at: Cursor<IntOrString>): void {
  validateIntOrPercent(at);
  const amount = typeof at.value === "string" ? (percentOf(at.value) ?? 0) : at.value;
  if (amount === 0) at.invalid("cannot be 0");
  validateAtMost100Percent(at);
}

/**
 * The template as pods get it: claims come first and replace volumes of the same names; the host name and its domain
 * come from the pod and the service.
 */
function asForPods({ template, volumeClaimTemplates = [] }: StatefulSetSpec): PodTemplateSpec {
  const { hostname: _hostname, subdomain: _subdomain, ...spec } = template.spec;
  if (volumeClaimTemplates.length === 0) return { ...template, spec };
  const volumes = new Map<string, Volume>();
  for (const { metadata } of volumeClaimTemplates) {
    const { name = "" } = metadata;
    volumes.set(name, { name, persistentVolumeClaim: { claimName: name } });
  }
  const others = (spec.volumes ?? []).filter(({ name }) => !volumes.has(name));
  return { ...template, spec: { ...spec, volumes: [...volumes.values(), ...others] } };
}

/** Faults that only a new one can have: these fields cannot be changed. */
export function validateNewStatefulSet(set: Cursor<StatefulSet>): void {
  const at = set.field("spec");
  at.each("volumeClaimTemplates", (at) => validateClaimSpec(at.field("spec")));
  at.set("serviceName")?.rule(dns1123Label);
}

const changeable = [
  "replicas",
  "template",
  "updateStrategy",
  "minReadySeconds",
  "ordinals",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
] as const;

export function validateStatefulSetUpdate(set: Cursor<StatefulSet>, { spec: old }: StatefulSet): void {
  const at = set.field("spec");
  const rest = { ...at.value } as Record<string, unknown>;
  for (const name of changeable) rest[name] = old[name];
  if (semanticEqual(StatefulSetSpec, rest, old)) return;
  at.forbidden(
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
  );
}
