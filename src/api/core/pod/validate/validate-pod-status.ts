import { type Container, type ContainerRestartRule } from "#api/core/container/container.ts";
import { type Cursor } from "#api/cursor.ts";
import { ipFamily, ipFault } from "#api/meta/ip-address.ts";
import { dns1123Label, dns1123Subdomain, qualifiedName, unixId } from "#api/meta/names.ts";
import { firstByName } from "#lib/data/first-by-name.ts";
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
  const isRestarted = restartsAll(spec);
  for (const list of statusLists) {
    const statuses = firstByName(at.value[list]);
    const containers = firstByName(containersOf(spec, list));
    for (const [index, before] of (old[list] ?? []).entries()) {
      const now = statuses.get(before.name);
      if (!now || now.state.terminated) continue;
      if (!staysEnded(before, { list, spec, isRestarted, container: containers.get(before.name) })) continue;
      const place = at.field(list).key(index, now).field("state");
      place.forbidden("may not be transitioned to non-terminated state");
    }
  }
}

export type StatusList = (typeof statusLists)[number];

/** Whether a container that was reported like this must be reported as terminated from now on. */
export function hasEndedForGood(spec: PodSpec, list: StatusList, status: ContainerStatus): boolean {
  if (!status.state.terminated) return false;
  const container = containersOf(spec, list).find(({ name }) => name === status.name);
  return staysEnded(status, { list, spec, isRestarted: restartsAll(spec), container });
}

/** The containers that such a list reports on; ephemeral ones need not be known. */
function containersOf({ containers, initContainers = [] }: PodSpec, list: StatusList): readonly Container[] {
  if (list === "ephemeralContainerStatuses") return [];
  return list === "containerStatuses" ? containers : initContainers;
}

interface Ending {
  readonly list: StatusList;
  readonly spec: PodSpec;
  /** Whether a container can make all others restart. */
  readonly isRestarted: boolean;
  readonly container: Container | undefined;
}

function staysEnded({ state }: ContainerStatus, { list, spec, isRestarted, container }: Ending): boolean {
  if (!state.terminated) return false;
  if (list === "ephemeralContainerStatuses") return true;
  if (isRestarted) return false;
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
  const known = new Set(spec.resourceClaims?.map(({ name }) => name));
  status.each("resourceClaimStatuses", (at) => {
    if (!known.has(at.value.name)) {
      at.field("name").invalid("must match the name of an entry in `spec.resourceClaims`");
    }
    at.field("name").unique(seen);
    at.field("resourceClaimName").rule(dns1123Subdomain);
  });
}

function validateExtendedClaims(status: Cursor<PodStatus>, spec: PodSpec): void {
  status.on("extendedResourceClaimStatus", (claim) => {
    const containers = new Map([...(spec.initContainers ?? []), ...spec.containers].map((one) => [one.name, one]));
    const seen = new Set<string>();
    claim.field("requestMappings").required("at least one request mapping is required");
    claim.each("requestMappings", (at) => {
      const { containerName, resourceName, requestName } = at.value;
      const container = containers.get(containerName);
      if (!container) {
        const detail = "must match the name of an entry in spec.initContainers.name or spec.containers.name";
        at.field("containerName").invalid(detail);
      } else if (container.resources.requests?.[resourceName] === undefined) {
        const detail =
          "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests";
        at.field("resourceName").invalid(detail);
      }
      claim.under("requestName").rule(dns1123Label, requestName);
      const key = JSON.stringify([containerName, resourceName, requestName]);
      if (!seen.has(key)) {
        seen.add(key);
        return;
      }
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
  const those = firstByName(list === "initContainerStatuses" ? initContainers : containers);
  // Several statuses may be of the same container.
  const claims = new Map<Container, ReadonlySet<string>>();
  const claimsOf = (container: Container): ReadonlySet<string> => {
    const known = claims.get(container) ?? new Set((container.resources.claims ?? []).map(deviceOf));
    claims.set(container, known);
    return known;
  };
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
      validateDevices(at, those.get(at.value.name), claimsOf);
    }
  });
}

function validateDevices(
  status: Cursor<ContainerStatus>,
  container: Container | undefined,
  claimsOf: (container: Container) => ReadonlySet<string>,
): void {
  status.each("allocatedResourcesStatus", (at) => {
    if (container) at.field("name").invalid(deviceFault(at.value.name, container, claimsOf));
    const seen = new Set<string>();
    at.each("resources", (at) => {
      validateHealth(at);
      at.field("resourceID").unique(seen);
    });
  });
}

/** How a device of a claim is called. */
const deviceOf = ({ name, request }: { readonly name: string; readonly request?: string }): string =>
  request ? `claim:${name}/${request}` : `claim:${name}`;

function deviceFault(
  name: string,
  container: Container,
  claimsOf: (container: Container) => ReadonlySet<string>,
): string | undefined {
  if (!name.startsWith("claim:")) {
    const isRequested = container.resources.requests?.[name] !== undefined;
    return isRequested ? undefined : "must match one of the container's resource requests";
  }
  if (claimsOf(container).has(name)) return undefined;
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
