import { Pod } from "#api/core/pod.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { type EventRecorder } from "#client/events.ts";
import { parseDuration } from "#schema/duration.ts";
import { type DynamicResourcesArgs } from "../args/plugin-args.ts";
import type { AllocatorDeps, DeviceAllocator, DeviceLimits } from "../devices/device-allocator.ts";
import { classesOf, hasNote, resourcesFromClasses } from "../devices/extended/class-for.ts";
import { hasResourceClaims, resourceClaimsOf } from "../devices/pod-claims.ts";
import { deviceHints } from "../devices/retry-hints.ts";
import { type SchedulerPlugin } from "../framework.ts";

export interface DynamicResourcesDeps extends AllocatorDeps {
  eventsOf?(schedulerName: string): EventRecorder;
}

/**
 * Gives the claims of pods their devices. A claim gets them together with the node of the first pod that uses it, and they
 * are stored before that pod is bound. What allocates devices is loaded for the first pod with a claim.
 */
export function dynamicResources(deps: DynamicResourcesDeps, args?: DynamicResourcesArgs): SchedulerPlugin {
  const { informers } = deps;
  const classFor = classesOf(informers);
  const needsDevices = (pod: Pod): boolean =>
    hasResourceClaims(pod) || hasNote(pod) || resourcesFromClasses(pod, classFor).length > 0;
  let allocator: DeviceAllocator | undefined;
  let stop: (() => void) | undefined;

  const prepare = async (...what: Parameters<DeviceAllocator["prepare"]>): Promise<void> => {
    if (!allocator) {
      const { DeviceAllocator: Allocator } = await import("../devices/device-allocator.ts");
      allocator = await Allocator.open({ ...deps, ...(args ? { limits: limitsOf(args) } : {}) });
      stop = allocator.follow();
    }
    await allocator.prepare(...what);
  };
  return {
    name: "DynamicResources",
    weight: 2,
    retryOn: deviceHints,

    follow(reconsider) {
      const unsubscribe = informers.of(ResourceClaim).subscribe(({ type, object: { metadata } }) => {
        if (type === "delete") return;
        const key = `${metadata.namespace}/${metadata.name}`;
        for (const pod of informers.of(Pod).by("resourceClaim", key)) if (!pod.spec.nodeName) reconsider(pod);
      });
      return () => {
        unsubscribe();
        stop?.();
      };
    },

    preEnqueue(pod) {
      if (!hasResourceClaims(pod)) return undefined;
      const claims = resourceClaimsOf(informers, pod);
      return typeof claims === "string" ? claims : undefined;
    },

    prepare: (pod, snapshot) => (needsDevices(pod) ? prepare(pod, snapshot) : undefined),
    candidates: (pod) => (needsDevices(pod) ? allocator?.refusalOf(pod) : undefined),
    acrossNodes: (pod, snapshot) => (needsDevices(pod) ? allocator?.across(pod, snapshot) : undefined),
    reserve: (pod, nodeName) => (needsDevices(pod) ? allocator?.reserve(pod, nodeName) : undefined),
    ...bindingHooks({ ...deps, bindingTimeoutMs: msOf(args?.bindingTimeout ?? "10m") }, () => allocator),
  };
}

const msOf = (duration: string): number => Number(parseDuration(duration) / 1_000_000n);

/** A step takes about a microsecond. No search is longer than usual, whatever the arguments say. */
function limitsOf({ filterTimeout, bindingTimeout }: DynamicResourcesArgs): DeviceLimits {
  const steps = Number(parseDuration(filterTimeout) / 1000n);
  return { stepsPerNode: Math.min(steps || mostSteps, mostSteps), bindingTimeoutMs: msOf(bindingTimeout) };
}
const mostSteps = 20_000;

type BindingHooks = "postFilter" | "unreserve" | "preBind" | "untilReady" | "postBind";

/** What happens after the decision. */
function bindingHooks(
  deps: DynamicResourcesDeps & { readonly bindingTimeoutMs: number },
  allocator: () => DeviceAllocator | undefined,
): Pick<SchedulerPlugin, BindingHooks> {
  let events: EventRecorder | undefined;
  const reservedIn = (pod: Pod): DeviceAllocator["reservations"] | undefined => {
    const known = allocator()?.reservations;
    return known?.has(pod) ? known : undefined;
  };
  return {
    async postFilter({ pod }) {
      const freeing = allocator()?.freeUnusable(pod);
      return freeing && { ...freeing, nominate: undefined, victims: [] };
    },
    unreserve: (pod) => reservedIn(pod)?.undo(pod),
    preBind: (pod, _nodeName, signal) => reservedIn(pod)?.store(pod, signal),
    untilReady(pod, nodeName) {
      const claims = reservedIn(pod)?.waitsFor(pod) ?? [];
      if (claims.length === 0) return undefined;
      return async (signal) => {
        const { waitUntilReady } = await import("../devices/wait-until-ready.ts");
        const message = `waiting for binding conditions for device on node ${nodeName}`;
        events ??= deps.eventsOf?.(pod.spec.schedulerName || "default-scheduler");
        events?.event(pod, "Normal", "BindingConditionsPending", message);
        await waitUntilReady(deps, claims, signal);
      };
    },
    postBind: (pod) => reservedIn(pod)?.done(pod),
  };
}
