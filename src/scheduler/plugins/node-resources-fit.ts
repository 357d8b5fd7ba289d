import { deviceClassPrefix, isExtendedResource } from "#api/core/container/resource-list.ts";
import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import { equal } from "#lib/data/equal.ts";
import { type NodeResourcesFitArgs } from "../args/plugin-args.ts";
import { comesFromClass, resourcesFromClasses } from "../devices/extended/class-for.ts";
import { fits, hint, type SchedulerPlugin } from "../framework.ts";
import { maxScore } from "../normalize.ts";
import { type PodRequest, type Resources, requestOf, resourcesOf } from "../resources.ts";
import { areUsual, type CountDevices } from "../scoring/amounts.ts";
import { type ClassKnowledge, scoredDevices } from "../scoring/scored-devices.ts";
import { scoreByStrategy } from "../scoring/strategies.ts";
import { type NodeInfo } from "../snapshot.ts";

/** What has to be free on a node. */
interface Needed extends Resources {
  /** Resources that the devices of classes provide where no device plugin does. DynamicResources looks for those. */
  readonly fromClasses?: ReadonlySet<string>;
}

const noClasses: ClassKnowledge = { classFor: () => undefined };

/** Requires enough free resources, and prefers nodes by how much of them would be left. */
export function nodeResourcesFit(args: NodeResourcesFitArgs = {}, classes = noClasses): SchedulerPlugin {
  const { classFor } = classes;
  const needed = withoutIgnored(args);
  const scored = scoredDevices(args.scoringStrategy?.resources ?? [], classes);
  const needs = (pod: Pod): Needed => {
    const requests = needed(requestOf(pod));
    const names = resourcesFromClasses(pod, classFor);
    return names.length === 0 ? requests : { ...requests, fromClasses: new Set(names) };
  };
  return {
    name: "NodeResourcesFit",
    weight: 1,
    retryOn: retryHints(needs),

    looksAt: (pod) => requestOf(pod).id,
    basis: (pod) => resourcesFromClasses(pod, classFor).join(" ") + scored.basisOf(pod),
    ...scored.hooks,

    preFilter: needs,

    filter(_pod, info, state) {
      const requests = state as Needed;
      if (hasRoom(requests, info)) return fits;
      return { reasons: missingOn(requests, info), isFinal: exceeds(requests, info.allocatable) };
    },

    preScore: (pod) => requestOf(pod),
    score: scoreOf(args, scored.devices),
  };
}

const retryHints = (needs: (pod: Pod) => Needed): NonNullable<SchedulerPlugin["retryOn"]> => ({
  node(pod, { change, object, previous, info }) {
    if (change === "deleted" || !info || missingOn(needs(pod), info).length > 0) return false;
    return !previous || offersMore(needs(pod), object, previous);
  },
  /** Only what is free on the node now counts, whichever pod left. */
  pod: (pod, { info }) => info !== undefined && missingOn(needs(pod), info).length === 0,
  objects: [
    hint(DeviceClass, (pod, change) => {
      if (change.type === "delete") return false;
      const { metadata, spec } = change.object;
      const { scalar } = requestOf(pod).requests;
      const name = spec.extendedResourceName ?? "";
      if (!change.previous) return scalar.has(deviceClassPrefix + metadata.name) || scalar.has(name);
      return change.previous.spec.extendedResourceName !== name && scalar.has(name);
    }),
  ],
});

type Score = NonNullable<SchedulerPlugin["score"]>;

function scoreOf({ scoringStrategy }: NodeResourcesFitArgs, devices: CountDevices | undefined): Score {
  if (!scoringStrategy) return leastAllocated;
  const { type, resources } = scoringStrategy;
  if (type === "LeastAllocated" && areUsual(resources)) return leastAllocated;
  const score = scoreByStrategy(scoringStrategy, devices);
  return (_pod, node, state) => score(node, state as PodRequest);
}

/** The mean fraction of CPU and memory that would be left. Resources that a node lacks are left out. */
const leastAllocated: Score = (_pod, { allocatable, nonZero: used }, state) => {
  const { nonZero } = state as PodRequest;
  const hasCpu = allocatable.milliCpu > 0;
  const hasMemory = allocatable.memory > 0;
  if (!hasCpu && !hasMemory) return 0;
  const cpu = hasCpu ? leftShare(used.milliCpu + nonZero.milliCpu, allocatable.milliCpu) : 0;
  const memory = hasMemory ? leftShare(used.memory + nonZero.memory, allocatable.memory) : 0;
  return hasCpu && hasMemory ? Math.floor((cpu + memory) / 2) : cpu + memory;
};

/** What has to be free on a node. Extended resources that others look after may be left out. */
function withoutIgnored({ ignoredResources = [], ignoredResourceGroups = [] }: NodeResourcesFitArgs) {
  if (ignoredResources.length === 0 && ignoredResourceGroups.length === 0) {
    return ({ requests }: PodRequest): Resources => requests;
  }
  const names = new Set(ignoredResources);
  const groups = new Set(ignoredResourceGroups);
  const isIgnored = (name: string) =>
    isExtendedResource(name) && (names.has(name) || groups.has(name.slice(0, name.indexOf("/"))));
  // Pods from one template share their request.
  const known = new WeakMap<PodRequest, Resources>();
  return (request: PodRequest): Resources => {
    let needed = known.get(request);
    if (!needed) {
      const scalar = new Map([...request.requests.scalar].filter(([name]) => !isIgnored(name)));
      needed = { ...request.requests, scalar };
      known.set(request, needed);
    }
    return needed;
  };
}

const leftShare = (used: number, of: number): number => (used > of ? 0 : Math.floor(((of - used) * maxScore) / of));

function hasRoom(requests: Needed, { pods, allowedPods, allocatable, requested }: NodeInfo): boolean {
  return (
    pods.size < allowedPods &&
    isWithin(requests.milliCpu, allocatable.milliCpu - requested.milliCpu) &&
    isWithin(requests.memory, allocatable.memory - requested.memory) &&
    isWithin(requests.ephemeralStorage, allocatable.ephemeralStorage - requested.ephemeralStorage) &&
    (requests.scalar.size === 0 || missingScalars(requests, { allocatable, requested }).length === 0)
  );
}

/** A request of nothing fits even on an overcommitted node. */
const isWithin = (amount: number, free: number): boolean => amount === 0 || amount <= free;

/** What the node lacks for the pod, in upstream's words. */
function missingOn(requests: Needed, { pods, allowedPods, allocatable, requested }: NodeInfo): string[] {
  const missing: string[] = [];
  if (pods.size >= allowedPods) missing.push("Too many pods");
  if (!isWithin(requests.milliCpu, allocatable.milliCpu - requested.milliCpu)) missing.push("Insufficient cpu");
  if (!isWithin(requests.memory, allocatable.memory - requested.memory)) missing.push("Insufficient memory");
  if (!isWithin(requests.ephemeralStorage, allocatable.ephemeralStorage - requested.ephemeralStorage)) {
    missing.push("Insufficient ephemeral-storage");
  }
  return [...missing, ...missingScalars(requests, { allocatable, requested })];
}

function missingScalars(requests: Needed, { allocatable, requested }: Pick<NodeInfo, "allocatable" | "requested">) {
  const isMissing = ([name, amount]: [string, number]): boolean =>
    !isWithin(amount, (allocatable.scalar.get(name) ?? 0) - (requested.scalar.get(name) ?? 0)) &&
    !isFromClass(requests, name, allocatable);
  return [...requests.scalar].filter(isMissing).map(([name]) => `Insufficient ${name}`);
}

const isFromClass = ({ fromClasses }: Needed, name: string, { scalar }: Resources): boolean =>
  (fromClasses?.has(name) ?? false) && comesFromClass(scalar, name);

/** The pod would not fit even on the empty node. */
const exceeds = (requests: Needed, allocatable: Resources): boolean =>
  requests.milliCpu > allocatable.milliCpu ||
  requests.memory > allocatable.memory ||
  requests.ephemeralStorage > allocatable.ephemeralStorage ||
  requests.scalar
    .entries()
    .some(
      ([name, amount]) => amount > (allocatable.scalar.get(name) ?? 0) && !isFromClass(requests, name, allocatable),
    );

/** The node now allows more pods, or has more of a requested resource. */
function offersMore(requests: Needed, node: Node, previous: Node): boolean {
  const pods = ({ status }: Node): number => quantityValue(status?.allocatable?.pods ?? "0");
  if (pods(node) > pods(previous)) return true;
  const [now, before] = [resourcesOf(node.status?.allocatable), resourcesOf(previous.status?.allocatable)];
  return (
    (requests.milliCpu > 0 && now.milliCpu > before.milliCpu) ||
    (requests.memory > 0 && now.memory > before.memory) ||
    (requests.ephemeralStorage > 0 && now.ephemeralStorage > before.ephemeralStorage) ||
    requests.scalar.entries().some(([name, amount]) => {
      if (amount > 0 && (now.scalar.get(name) ?? 0) > (before.scalar.get(name) ?? 0)) return true;
      return amount > 0 && isFromClass(requests, name, now) && isOtherwise(node, previous);
    })
  );
}

const isOtherwise = ({ status: now }: Node, { status: before }: Node): boolean =>
  !equal(now?.allocatable, before?.allocatable);
