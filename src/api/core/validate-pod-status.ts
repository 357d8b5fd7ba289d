import { isDeepStrictEqual } from "node:util";
import {
  duplicateValue,
  type FieldError,
  type FieldPath,
  forbiddenValue,
  invalidValue,
  requiredValue,
  root,
  tooLong,
  unsupportedValue,
} from "#schema/field-error.ts";
import { ipFault, ipVersion } from "../meta/ip.ts";
import { dns1123Label, dns1123Subdomain, qualifiedName, unixId } from "../meta/names.ts";
import { type Container, type ContainerRestartRule } from "./container.ts";
import { type Faults, judge } from "./faults.ts";
import { type PodObject } from "./pod-fields.ts";
import { type PodSpec } from "./pod-spec.ts";
import { type ContainerStatus, type PodCondition, type PodStatus, type ResourceHealth } from "./pod-status.ts";
import { validateAnnotationUpdate, validatePodAnnotations } from "./validate-pod-annotations.ts";

const statusPath = root.child("status");
const statusLists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] as const;

export function validatePodStatusUpdate(pod: PodObject, old: PodObject): FieldError[] {
  const faults: Faults = [];
  const { status, spec } = pod;
  const annotations = root.child("metadata", "annotations");
  validateAnnotationUpdate(pod.metadata.annotations, old.metadata.annotations, annotations, faults);
  validatePodAnnotations(pod.metadata.annotations, spec, annotations, faults);
  validateConditions(status.conditions ?? [], statusPath.child("conditions"), faults);
  validateNomination(status, old, faults);
  if ((status.observedGeneration ?? 0) < 0) {
    const detail = "must be a non-negative integer";
    faults.push(invalidValue(statusPath.child("observedGeneration"), status.observedGeneration, detail));
  }
  if ((status.qosClass ?? "") !== (old.status.qosClass ?? "")) {
    faults.push(invalidValue(statusPath.child("qosClass"), status.qosClass ?? "", "field is immutable"));
  }
  validateTransitions(status, old, faults);
  validateClaimStatuses(status, spec, faults);
  validateExtendedClaims(status, spec, faults);
  validateAddresses("podIPs", status.podIPs, old.status.podIPs, faults);
  if (status.hostIPs?.length && status.hostIPs[0]?.ip !== (status.hostIP ?? "")) {
    const path = statusPath.child("hostIPs").index(0).child("ip");
    faults.push(invalidValue(path, status.hostIPs[0]?.ip, "must be equal to `hostIP`"));
  }
  validateAddresses("hostIPs", status.hostIPs, old.status.hostIPs, faults);
  for (const list of statusLists) validateContainerStatuses(list, status[list] ?? [], spec, faults);
  return faults;
}

const ownConditions = new Set(["PodScheduled", "Ready", "Initialized"]);

function validateConditions(conditions: readonly PodCondition[], path: FieldPath, faults: Faults): void {
  for (const [index, { type, observedGeneration = 0 }] of conditions.entries()) {
    if (observedGeneration < 0) {
      const at = path.index(index).child("observedGeneration");
      faults.push(invalidValue(at, observedGeneration, "must be a non-negative integer"));
    }
    if (!ownConditions.has(type)) judge(qualifiedName, type, path.index(index), "Type", faults);
  }
}

function validateNomination({ nominatedNodeName: name }: PodStatus, old: PodObject, faults: Faults): void {
  if (!name || name === old.status.nominatedNodeName) return;
  judge(dns1123Subdomain, name, statusPath, "nominatedNodeName", faults);
  if (old.spec.nodeName) {
    const detail = "may not be set on pods that are already bound to a node";
    faults.push(forbiddenValue(statusPath.child("nominatedNodeName"), detail));
  }
}

/** A container that has ended for good stays ended. */
function validateTransitions(status: PodStatus, { status: old, spec }: PodObject, faults: Faults): void {
  const restartsAll = [...spec.containers, ...(spec.initContainers ?? [])].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === "RestartAllContainers"),
  );
  for (const list of statusLists) {
    const isEphemeral = list === "ephemeralContainerStatuses";
    if (restartsAll && !isEphemeral) continue;
    const containers = (list === "containerStatuses" ? spec.containers : spec.initContainers) ?? [];
    for (const [index, { name, state }] of (old[list] ?? []).entries()) {
      const now = status[list]?.find((candidate) => candidate.name === name);
      if (!state.terminated || !now || now.state.terminated) continue;
      const container = isEphemeral ? undefined : containers.find((candidate) => candidate.name === name);
      if (container && mayRestart(container, spec, state.terminated.exitCode)) continue;
      const path = statusPath.child(list).index(index).child("state");
      faults.push(forbiddenValue(path, "may not be transitioned to non-terminated state"));
    }
  }
}

/** Whether a container that ended with this code is started again. */
export function mayRestart(
  { restartPolicy, restartPolicyRules = [] }: Pick<Container, "restartPolicy" | "restartPolicyRules">,
  spec: Pick<PodSpec, "restartPolicy">,
  exitCode: number,
): boolean {
  if (restartPolicy !== undefined && restartPolicyRules.some((rule) => matchesExit(rule, exitCode))) return true;
  const policy = restartPolicy ?? spec.restartPolicy;
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}

/** Whether a restart rule is about this exit code. */
function matchesExit({ exitCodes }: ContainerRestartRule, exitCode: number): boolean {
  if (!exitCodes) return false;
  const isListed = exitCodes.values?.includes(exitCode) ?? false;
  return exitCodes.operator === "In" ? isListed : exitCodes.operator === "NotIn" && !isListed;
}

function validateClaimStatuses({ resourceClaimStatuses = [] }: PodStatus, spec: PodSpec, faults: Faults): void {
  const seen = new Set<string>();
  for (const [index, { name, resourceClaimName }] of resourceClaimStatuses.entries()) {
    const path = statusPath.child("resourceClaimStatuses").index(index);
    if (!spec.resourceClaims?.some((claim) => claim.name === name)) {
      const detail = "must match the name of an entry in `spec.resourceClaims`";
      faults.push(invalidValue(path.child("name"), name, detail));
    }
    if (seen.has(name)) faults.push(duplicateValue(path.child("name"), name));
    seen.add(name);
    if (resourceClaimName !== undefined) judge(dns1123Subdomain, resourceClaimName, path, "resourceClaimName", faults);
  }
}

function validateExtendedClaims(
  { extendedResourceClaimStatus: claim }: PodStatus,
  spec: PodSpec,
  faults: Faults,
): void {
  if (!claim) return;
  const path = statusPath.child("extendedResourceClaimStatus");
  const mappings = path.child("requestMappings");
  if (claim.requestMappings.length === 0) {
    faults.push(requiredValue(mappings, "at least one request mapping is required"));
  }
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  for (const [index, mapping] of claim.requestMappings.entries()) {
    const at = mappings.index(index);
    const { containerName, resourceName, requestName } = mapping;
    const container = containers.findLast(({ name }) => name === containerName);
    if (!container) {
      const detail = "must match the name of an entry in spec.initContainers.name or spec.containers.name";
      faults.push(invalidValue(at.child("containerName"), containerName, detail));
    } else if (container.resources.requests?.[resourceName] === undefined) {
      const detail =
        "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests";
      faults.push(invalidValue(at.child("resourceName"), resourceName, detail));
    }
    judge(dns1123Label, requestName, path, "requestName", faults);
    if (claim.requestMappings.slice(0, index).some((other) => isDeepStrictEqual(other, mapping))) {
      for (const name of ["containerName", "resourceName", "requestName"] as const) {
        faults.push(duplicateValue(at.child(name), mapping[name]));
      }
    }
  }
  if (!claim.resourceClaimName) faults.push(requiredValue(path.child("resourceClaimName")));
  else judge(dns1123Subdomain, claim.resourceClaimName, path, "resourceClaimName", faults);
}

type Addresses = readonly { readonly ip: string }[] | undefined;

function validateAddresses(field: "podIPs" | "hostIPs", addresses: Addresses, old: Addresses, faults: Faults): void {
  const path = statusPath.child(field);
  const known = new Set((old ?? []).map(({ ip }) => ip));
  for (const [index, { ip }] of (addresses ?? []).entries()) {
    const fault = known.has(ip) ? undefined : ipFault(ip);
    if (fault) faults.push(invalidValue(path.index(index), ip, fault));
  }
  if (!addresses || addresses.length < 2) return;
  const families = new Set(addresses.map(({ ip }) => ipVersion(ip)));
  if (addresses.length > 2 || families.size < 2) {
    faults.push(invalidValue(path, addresses, "may specify no more than one IP for each IP family"));
  }
}

function validateContainerStatuses(
  list: (typeof statusLists)[number],
  statuses: readonly ContainerStatus[],
  spec: PodSpec,
  faults: Faults,
): void {
  const containers = list === "initContainerStatuses" ? (spec.initContainers ?? []) : spec.containers;
  for (const [index, status] of statuses.entries()) {
    const path = statusPath.child(list).index(index);
    validateUser(status, spec, path.child("user", "linux"), faults);
    if (!status.allocatedResourcesStatus) continue;
    const at = path.child("allocatedResourcesStatus");
    if (list === "ephemeralContainerStatuses") {
      faults.push(forbiddenValue(at, "must not be specified in container status"));
    } else {
      const container = containers.find(({ name }) => name === status.name);
      validateDevices(status, container, at, faults);
    }
  }
}

function validateUser({ user }: ContainerStatus, { os }: PodSpec, path: FieldPath, faults: Faults): void {
  if (!user?.linux) return;
  if (os?.name === "windows") {
    faults.push(forbiddenValue(path, "cannot be set for a windows pod"));
    return;
  }
  const { uid, gid, supplementalGroups = [] } = user.linux;
  const ids = [
    [uid, path.child("uid")],
    [gid, path.child("gid")],
    ...supplementalGroups.map((group, index) => [group, path.child("supplementalGroups").index(index)] as const),
  ] as const;
  for (const [id, at] of ids) {
    const fault = unixId(id);
    if (fault) faults.push(invalidValue(at, id, fault));
  }
}

function validateDevices(
  { allocatedResourcesStatus = [] }: ContainerStatus,
  container: Container | undefined,
  path: FieldPath,
  faults: Faults,
): void {
  for (const [index, { name, resources = [] }] of allocatedResourcesStatus.entries()) {
    const at = path.index(index);
    const fault = container && deviceFault(name, container);
    if (fault) faults.push(invalidValue(at.child("name"), name, fault));
    const seen = new Set<string>();
    for (const [position, health] of resources.entries()) {
      validateHealth(health, at.child("resources").index(position), faults);
      if (seen.has(health.resourceID)) {
        faults.push(duplicateValue(at.child("resources").index(position).child("resourceID"), health.resourceID));
      }
      seen.add(health.resourceID);
    }
  }
}

function deviceFault(name: string, { resources }: Container): string | undefined {
  if (!name.startsWith("claim:")) {
    const isRequested = resources.requests?.[name] !== undefined;
    return isRequested ? undefined : "must match one of the container's resource requests";
  }
  const claims = (resources.claims ?? []).map((claim) =>
    claim.request ? `claim:${claim.name}/${claim.request}` : `claim:${claim.name}`,
  );
  if (claims.includes(name)) return undefined;
  return "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty";
}

const healthValues = ["Healthy", "Unhealthy", "Unknown"];
const maxHealthMessage = 1024;

function validateHealth({ health = "", message }: ResourceHealth, path: FieldPath, faults: Faults): void {
  if (!healthValues.includes(health)) faults.push(unsupportedValue(path.child("health"), health, healthValues));
  if (message === "") faults.push(requiredValue(path.child("message"), "must be non-empty if specified"));
  else if (message !== undefined && Buffer.byteLength(message) > maxHealthMessage) {
    faults.push(tooLong(path.child("message"), maxHealthMessage));
  }
}
