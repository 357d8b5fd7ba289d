import { isDeepStrictEqual } from "node:util";
import { type Container, type ContainerRestartRule } from "#api/core/container/container.ts";
import { type Cursor } from "#api/cursor.ts";
import { ipFamily, ipFault } from "#api/meta/ip-address.ts";
import { dns1123Label, dns1123Subdomain, qualifiedName, unixId } from "#api/meta/names.ts";
import { type PodObject } from "../pod-fields.ts";
import { type PodSpec } from "../pod-spec.ts";
import { type ContainerStatus, type PodCondition, type PodStatus, type ResourceHealth } from "../pod-status.ts";
import { validateAnnotationUpdate, validatePodAnnotations } from "./validate-pod-annotations.ts";

const statusLists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] as const;

export function validatePodStatusUpdate(pod: Cursor<PodObject>, old: PodObject): void {
  const { status, spec, metadata } = pod.value;
  const at = pod.field("status");
  validateAnnotationUpdate(pod, old);
  validatePodAnnotations(pod.under("metadata", "annotations").as(metadata.annotations), spec);
  at.each("conditions", validateCondition);
  validateNomination(at, old);
  if ((status.observedGeneration ?? 0) < 0) at.field("observedGeneration").invalid("must be a non-negative integer");
  if ((status.qosClass ?? "") !== (old.status.qosClass ?? "")) {
    at.field("qosClass").invalid("field is immutable", status.qosClass ?? "");
  }
  validateTransitions(at, old);
  validateClaimStatuses(at, spec);
  validateExtendedClaims(at, spec);
  validateAddresses(at, "podIPs", old.status);
  if (status.hostIPs?.length && status.hostIPs[0]?.ip !== (status.hostIP ?? "")) {
    at.field("hostIPs").key(0, status.hostIPs[0]?.ip).under("ip").invalid("must be equal to `hostIP`");
  }
  validateAddresses(at, "hostIPs", old.status);
  for (const list of statusLists) validateContainerStatuses(at, list, spec);
}

const ownConditions = new Set(["PodScheduled", "Ready", "Initialized"]);

function validateCondition(at: Cursor<PodCondition>): void {
  const { type, observedGeneration = 0 } = at.value;
  if (observedGeneration < 0) at.field("observedGeneration").invalid("must be a non-negative integer");
  if (!ownConditions.has(type)) at.under("Type").rule(qualifiedName, type);
}

function validateNomination(at: Cursor<PodStatus>, old: PodObject): void {
  const { nominatedNodeName: name } = at.value;
  if (!name || name === old.status.nominatedNodeName) return;
  at.field("nominatedNodeName").rule(dns1123Subdomain);
  if (old.spec.nodeName) {
    at.field("nominatedNodeName").forbidden("may not be set on pods that are already bound to a node");
  }
}

/** A container that has terminated for good must stay terminated. */
function validateTransitions(at: Cursor<PodStatus>, { status: old, spec }: PodObject): void {
  for (const list of statusLists) {
    for (const [index, before] of (old[list] ?? []).entries()) {
      const now = at.value[list]?.find((candidate) => candidate.name === before.name);
      if (!now || now.state.terminated || !hasEndedForGood(spec, list, before)) continue;
      const place = at.field(list).key(index, now).field("state");
      place.forbidden("may not be transitioned to non-terminated state");
    }
  }
}

export type StatusList = (typeof statusLists)[number];

/** Whether a container that was reported like this must be reported as terminated from now on. */
export function hasEndedForGood(spec: PodSpec, list: StatusList, { name, state }: ContainerStatus): boolean {
  if (!state.terminated) return false;
  if (list === "ephemeralContainerStatuses") return true;
  if (restartsAll(spec)) return false;
  const containers = (list === "containerStatuses" ? spec.containers : spec.initContainers) ?? [];
  const container = containers.find((candidate) => candidate.name === name);
  return !container || !mayRestart(container, spec, state.terminated.exitCode);
}

const restartsAll = ({ containers, initContainers = [] }: PodSpec): boolean =>
  [...containers, ...initContainers].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === "RestartAllContainers"),
  );

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

function validateClaimStatuses(status: Cursor<PodStatus>, spec: PodSpec): void {
  const seen = new Set<string>();
  status.each("resourceClaimStatuses", (at) => {
    if (!spec.resourceClaims?.some((claim) => claim.name === at.value.name)) {
      at.field("name").invalid("must match the name of an entry in `spec.resourceClaims`");
    }
    at.field("name").unique(seen);
    at.field("resourceClaimName").rule(dns1123Subdomain);
  });
}

function validateExtendedClaims(status: Cursor<PodStatus>, spec: PodSpec): void {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  status.on("extendedResourceClaimStatus", (claim) => {
    const { requestMappings } = claim.value;
    claim.field("requestMappings").required("at least one request mapping is required");
    claim.each("requestMappings", (at, index) => {
      const { containerName, resourceName, requestName } = at.value;
      const container = containers.findLast(({ name }) => name === containerName);
      if (!container) {
        const detail = "must match the name of an entry in spec.initContainers.name or spec.containers.name";
        at.field("containerName").invalid(detail);
      } else if (container.resources.requests?.[resourceName] === undefined) {
        const detail =
          "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests";
        at.field("resourceName").invalid(detail);
      }
      claim.under("requestName").rule(dns1123Label, requestName);
      if (!requestMappings.slice(0, index).some((other) => isDeepStrictEqual(other, at.value))) return;
      for (const name of ["containerName", "resourceName", "requestName"] as const) at.field(name).duplicate();
    });
    if (claim.field("resourceClaimName").required()) claim.field("resourceClaimName").rule(dns1123Subdomain);
  });
}

function validateAddresses(status: Cursor<PodStatus>, list: "podIPs" | "hostIPs", old: PodStatus): void {
  const { [list]: addresses = [] } = status.value;
  const known = new Set((old[list] ?? []).map(({ ip }) => ip));
  status.each(list, (at) => {
    const { ip } = at.value;
    if (!known.has(ip)) at.invalid(ipFault(ip), ip);
  });
  if (addresses.length < 2) return;
  const families = new Set(addresses.map(({ ip }) => ipFamily(ip)));
  if (addresses.length > 2 || families.size < 2) {
    status.field(list).invalid("may specify no more than one IP for each IP family");
  }
}

function validateContainerStatuses(
  status: Cursor<PodStatus>,
  list: StatusList,
  { containers, initContainers = [], os }: PodSpec,
): void {
  const those = list === "initContainerStatuses" ? initContainers : containers;
  status.each(list, (at) => {
    at.on("user", (at) =>
      at.on("linux", (at) => {
        if (os?.name === "windows") {
          at.forbidden("cannot be set for a windows pod");
          return;
        }
        at.field("uid").invalid(unixId(at.value.uid));
        at.field("gid").invalid(unixId(at.value.gid));
        at.each("supplementalGroups", (at) => at.invalid(unixId(at.value)));
      }),
    );
    if (list === "ephemeralContainerStatuses") {
      at.on("allocatedResourcesStatus", (at) => at.forbidden("must not be specified in container status"));
    } else {
      const container = those.find(({ name }) => name === at.value.name);
      validateDevices(at, container);
    }
  });
}

function validateDevices(status: Cursor<ContainerStatus>, container: Container | undefined): void {
  status.each("allocatedResourcesStatus", (at) => {
    if (container) at.field("name").invalid(deviceFault(at.value.name, container));
    const seen = new Set<string>();
    at.each("resources", (at) => {
      validateHealth(at);
      at.field("resourceID").unique(seen);
    });
  });
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

function validateHealth(at: Cursor<ResourceHealth>): void {
  const { health = "", message } = at.value;
  at.field("health").as(health).oneOf(healthValues);
  if (message === "") at.field("message").missing("must be non-empty if specified");
  else if (message !== undefined && Buffer.byteLength(message) > maxHealthMessage) {
    at.field("message").tooLong(maxHealthMessage);
  }
}
