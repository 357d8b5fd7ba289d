import { type Container } from "#api/core/container/container.ts";
import {
  addTo,
  deviceClassPrefix,
  isDeviceResource,
  isHugePages,
  isNativeResource,
  type ResourceList,
} from "#api/core/container/resource-list.ts";
import { type PodAffinityTerm } from "#api/core/pod/affinity.ts";
import { withHeldResources } from "#api/core/pod/held-resources.ts";
import { isPodLevelResource, podLimits, podRequests, qosClassOf } from "#api/core/pod/pod-resources.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { own } from "#lib/data/own.ts";
import { countName, type Evaluator, type ScopeRequirement } from "./evaluator.ts";

const measured = ["cpu", "memory", "ephemeral-storage"];
const names: ReadonlySet<string> = new Set([
  countName(Pod),
  "pods",
  ...measured.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
]);

/** Pods take what their containers request and may use, until they have ended. */
export const podEvaluator: Evaluator<Pod> = {
  measures: (name) =>
    names.has(name) || isHugePages(name) || name.startsWith("requests.hugepages-") || isExtendedRequest(name),

  isCharged({ operation, subresource, object, old }) {
    if (subresource === "resize") return operation === "UPDATE";
    if (subresource !== "") return false;
    return operation === "CREATE" || (old !== undefined && hasDeadline(old) !== hasDeadline(object));
  },

  usage(pod, { nowMs }) {
    const count = { [countName(Pod)]: "1" };
    return takesResources(pod, nowMs) ? { ...count, pods: "1", ...resourceUsage(pod) } : count;
  },

  isInScope,
  fault: missingResources,
};

/** `requests.example.com/gpu`. */
export const isExtendedRequest = (name: string): boolean =>
  name.startsWith("requests.") && (!isNativeResource(name) || name.startsWith(`requests.${deviceClassPrefix}`));

/** What the containers of the pod request and may use. */
export function resourceUsage(pod: Pod): ResourceList {
  const spec = { ...pod.spec, ...withHeldResources(pod) };
  return computeUsage(podRequests(spec), podLimits(spec));
}

/** A pod that should be gone by now does not count: its node may be lost, and others must be able to replace it. */
export function takesResources(pod: Pod, nowMs: number): boolean {
  if (isFinished(pod)) return false;
  const { deletionTimestamp, deletionGracePeriodSeconds: graceSeconds } = pod.metadata;
  if (deletionTimestamp === undefined || graceSeconds === undefined) return true;
  return nowMs <= Date.parse(deletionTimestamp) + graceSeconds * 1000;
}

function computeUsage(requests: ResourceList, limits: ResourceList): ResourceList {
  const usage: ResourceList = {};
  for (const name of measured) {
    const request = own(requests, name);
    const limit = own(limits, name);
    if (request !== undefined) addTo(usage, { [name]: request, [`requests.${name}`]: request });
    if (limit !== undefined) usage[`limits.${name}`] = limit;
  }
  for (const [name, amount] of Object.entries(requests)) {
    if (isHugePages(name)) usage[name] = amount;
    if (isHugePages(name) || isDeviceResource(name)) {
      usage[`requests.${name}`] = amount;
    }
  }
  return usage;
}

function isInScope(pod: Pod, scope: ScopeRequirement): boolean {
  switch (scope.scopeName) {
    case "Terminating":
      return hasDeadline(pod);
    case "NotTerminating":
      return !hasDeadline(pod);
    case "BestEffort":
      return qosClassOf(pod.spec) === "BestEffort";
    case "NotBestEffort":
      return qosClassOf(pod.spec) !== "BestEffort";
    case "PriorityClass":
      return isOfClass(scope, pod.spec.priorityClassName);
    case "CrossNamespacePodAffinity":
      return concernsOtherNamespaces(pod);
    default:
      return false;
  }
}

const hasDeadline = ({ spec }: Pod): boolean => (spec.activeDeadlineSeconds ?? -1) >= 0;

/** The same operators as for a label whose value is the name of the class. */
export const isOfClass = ({ scopeName, operator, values }: ScopeRequirement, className: string | undefined): boolean =>
  matches(
    { matchExpressions: [{ key: scopeName, operator, ...(values ? { values } : {}) }] },
    className ? { [scopeName]: className } : {},
  );

function concernsOtherNamespaces({ spec: { affinity } }: Pod): boolean {
  const isOther = ({ namespaces, namespaceSelector }: PodAffinityTerm): boolean =>
    (namespaces?.length ?? 0) > 0 || namespaceSelector !== undefined;
  return [affinity?.podAffinity, affinity?.podAntiAffinity].some(
    (rules) =>
      rules?.requiredDuringSchedulingIgnoredDuringExecution?.some(isOther) ||
      rules?.preferredDuringSchedulingIgnoredDuringExecution?.some(({ podAffinityTerm }) => isOther(podAffinityTerm)),
  );
}

/** Limits of these names demand that every container says what it needs. */
const demanded = ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];

function missingResources({ spec }: Pod, limited: ReadonlySet<string>): string | undefined {
  const { requests, limits } = spec.resources ?? {};
  if (Object.keys({ ...requests, ...limits }).some(isPodLevelResource)) return undefined;
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  const missing = demanded
    .filter((name) => limited.has(name))
    .map((name) => ({ name, lacking: containers.filter((container) => !isSet(container, name)) }))
    .filter(({ lacking }) => lacking.length > 0)
    .map(
      ({ name, lacking }) =>
        `${name} for: ${lacking
          .map((each) => each.name)
          .sort()
          .join(",")}`,
    );
  return missing.length > 0 ? `must specify ${missing.join("; ")}` : undefined;
}

function isSet({ resources: { requests, limits } }: Container, name: string): boolean {
  const [list, resource] = name.startsWith("limits.")
    ? [limits, name.slice("limits.".length)]
    : [requests, name.replace(/^requests\./, "")];
  return own(list, resource) !== undefined;
}
