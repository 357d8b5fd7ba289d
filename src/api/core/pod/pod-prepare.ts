import { type Container } from "#api/core/container/container.ts";
import { type AppArmorProfile } from "#api/core/container/security-context.ts";
import { type VolumeProjection } from "#api/core/volume/volume.ts";
import { faultsIn } from "#api/cursor.ts";
import { keepMetadata } from "#api/meta/keep-metadata.ts";
import { type LabelSelectorRequirement } from "#api/meta/label-selector.ts";
import { type ObjectMeta } from "#api/meta/object-meta.ts";
import { own } from "#lib/data/own.ts";
import { type PodAffinityTerm } from "./affinity.ts";
import { allContainers } from "./pod-containers.ts";
import { type PodObject } from "./pod-fields.ts";
import { qosClassOf } from "./pod-resources.ts";
import { type PodSpec } from "./pod-spec.ts";
import { appArmorPrefix } from "./validate/validate-pod-annotations.ts";
import { validateAppArmor } from "./validate/validate-security-context.ts";

export function initialPodStatus({ spec, metadata }: PodObject): PodObject["status"] {
  const status = { phase: "Pending", qosClass: qosClassOf(spec) } as const;
  if (!spec.schedulingGates?.length) return status;
  const message = "Scheduling is blocked due to non-empty scheduling gates";
  const lastTransitionTime = metadata.creationTimestamp ?? "";
  const gated = { type: "PodScheduled", status: "False", reason: "SchedulingGated", message } as const;
  return { ...status, conditions: [{ ...gated, lastTransitionTime }] };
}

export function preparePod({ spec, metadata }: PodObject): void {
  dropDisabledFields(spec, undefined);
  if (spec.terminationGracePeriodSeconds < 0) spec.terminationGracePeriodSeconds = 1;
  mergeLabelKeys(spec, metadata.labels ?? {});
  applyAppArmorAnnotations(spec, metadata);
}

export function preparePodUpdate({ spec }: PodObject, old: PodObject): void {
  dropDisabledFields(spec, old.spec);
}

export function preparePodStatusUpdate(pod: PodObject, old: PodObject): void {
  keepMetadata(pod.metadata, old.metadata, "ownerReferences");
  const { status } = pod;
  // The feature behind it is off by default.
  if (!old.status.nodeAllocatableResourceClaimStatuses) delete status.nodeAllocatableResourceClaimStatuses;
  if (!status.qosClass && old.status.qosClass) status.qosClass = old.status.qosClass;
  if (!status.observedGeneration && old.status.observedGeneration) {
    status.observedGeneration = old.status.observedGeneration;
  }
  const generations = new Map<string, number | undefined>();
  for (const { type, observedGeneration } of old.status.conditions ?? []) {
    if (!generations.has(type)) generations.set(type, observedGeneration);
  }
  for (const condition of status.conditions ?? []) {
    const before = generations.get(condition.type);
    if (!condition.observedGeneration && before) condition.observedGeneration = before;
  }
}

/** Everything but the ephemeral containers stays. */
export function prepareEphemeralUpdate(pod: PodObject, old: PodObject): void {
  const { ephemeralContainers } = pod.spec;
  const { ephemeralContainers: _before, ...rest } = old.spec;
  pod.spec = ephemeralContainers ? { ...rest, ephemeralContainers } : rest;
  keepForSubresource(pod, old);
}

/** Everything but resources and resize policies stays, as far as the containers are still the same. */
export function prepareResize(pod: PodObject, old: PodObject): void {
  const { containers, initContainers = [], resources } = pod.spec;
  const oldInit = old.spec.initContainers ?? [];
  if (containers.length !== old.spec.containers.length || initContainers.length !== oldInit.length) return;
  const { resources: _before, ...rest } = old.spec;
  pod.spec = { ...rest, containers: withResources(containers, old.spec.containers) };
  if (initContainers.length > 0) pod.spec.initContainers = withResources(initContainers, oldInit);
  if (resources) pod.spec.resources = resources;
  keepForSubresource(pod, old);
}

function withResources(containers: Container[], old: readonly Container[]): Container[] {
  if (containers.some(({ name }, index) => old[index]?.name !== name)) return containers;
  return old.map((before, index) => {
    const { resources = {}, resizePolicy } = containers[index] ?? {};
    const container = { ...before, resources };
    if (resizePolicy) container.resizePolicy = resizePolicy;
    else delete container.resizePolicy;
    return container;
  });
}

function keepForSubresource(pod: PodObject, old: PodObject): void {
  pod.status = old.status;
  keepMetadata(pod.metadata, old.metadata, "labels", "annotations", "finalizers", "ownerReferences");
}

/** Fields of features that are off in this release. They are dropped unless the pod or template already has them. */
export function dropDisabledFields(spec: PodSpec, old: PodSpec | undefined): void {
  if (spec.schedulingGroup && !old?.schedulingGroup) delete spec.schedulingGroup;
  for (const name of ["clusterTrustBundle", "podCertificate"] as const) {
    const sources = sourcesWith(spec, name);
    if (sources.length === 0 || sourcesWith(old, name).length > 0) continue;
    for (const source of sources) delete source[name];
  }
  const hadSignal = old && allContainers(old).some(({ lifecycle }) => lifecycle?.stopSignal);
  if (hadSignal) return;
  for (const container of allContainers(spec)) {
    const { lifecycle } = container;
    if (lifecycle?.stopSignal === undefined) continue;
    delete lifecycle.stopSignal;
    if (Object.keys(lifecycle).length === 0) delete container.lifecycle;
  }
}

function sourcesWith(spec: PodSpec | undefined, name: keyof VolumeProjection): VolumeProjection[] {
  const found: VolumeProjection[] = [];
  for (const { projected } of spec?.volumes ?? []) {
    for (const source of projected?.sources ?? []) if (source[name]) found.push(source);
  }
  return found;
}

/** Label keys of affinity and spreading become conditions of their selectors, with the values the pod has. */
function mergeLabelKeys({ affinity, topologySpreadConstraints = [] }: PodSpec, labels: Record<string, string>): void {
  for (const group of [affinity?.podAffinity, affinity?.podAntiAffinity]) {
    for (const term of group?.requiredDuringSchedulingIgnoredDuringExecution ?? []) mergeKeysOf(term, labels);
    for (const { podAffinityTerm } of group?.preferredDuringSchedulingIgnoredDuringExecution ?? []) {
      mergeKeysOf(podAffinityTerm, labels);
    }
  }
  for (const constraint of topologySpreadConstraints) mergeKeysOf(constraint, labels);
}

type LabelKeys = Pick<PodAffinityTerm, "labelSelector" | "matchLabelKeys" | "mismatchLabelKeys">;

function mergeKeysOf(term: LabelKeys, labels: Readonly<Record<string, string>>): void {
  const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = term;
  if (!labelSelector || matchLabelKeys.length + mismatchLabelKeys.length === 0) return;
  const { matchExpressions: given = [] } = labelSelector;
  // Each is added only once: a create that is repeated because of a name conflict prepares the same object again.
  const known = new Set(given.map(conditionKey));
  const added: LabelSelectorRequirement[] = [];
  const add = (key: string, operator: string): void => {
    const value = own(labels, key);
    if (value === undefined) return;
    const condition = { key, operator, values: [value] };
    if (!known.has(conditionKey(condition))) added.push(condition);
    known.add(conditionKey(condition));
  };
  for (const key of matchLabelKeys) add(key, "In");
  for (const key of mismatchLabelKeys) add(key, "NotIn");
  if (added.length > 0) labelSelector.matchExpressions = [...given, ...added];
}

const conditionKey = ({ key, operator, values = [] }: LabelSelectorRequirement): string =>
  JSON.stringify([key, operator, ...values]);

/** AppArmor profiles used to be annotations; nodes read the field. */
function applyAppArmorAnnotations(spec: PodSpec, { annotations }: ObjectMeta): void {
  if (!annotations || spec.os?.name === "windows") return;
  for (const container of allContainers(spec)) {
    const annotation = annotations[appArmorPrefix + container.name];
    if (annotation === undefined || container.securityContext?.appArmorProfile) continue;
    const profile = appArmorProfileOf(annotation);
    if (!profile || isSameProfile(profile, spec.securityContext.appArmorProfile)) continue;
    container.securityContext = { ...container.securityContext, appArmorProfile: profile };
  }
}

const isSameProfile = (a: AppArmorProfile, b: AppArmorProfile | undefined): boolean =>
  a.type === b?.type && a.localhostProfile === b.localhostProfile;

/** Returns undefined if the annotation is no valid profile. */
export function appArmorProfileOf(annotation: string): AppArmorProfile | undefined {
  if (annotation === "unconfined") return { type: "Unconfined" };
  if (annotation === "runtime/default") return { type: "RuntimeDefault" };
  if (!annotation.startsWith("localhost/")) return undefined;
  const profile = { type: "Localhost", localhostProfile: annotation.slice("localhost/".length) } as const;
  return faultsIn(profile, validateAppArmor).length === 0 ? profile : undefined;
}
