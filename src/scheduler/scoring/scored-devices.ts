import { isDeviceResource } from "#api/core/container/resource-list.ts";
import { type Pod } from "#api/core/pod.ts";
import { type ResourceSpec } from "../args/plugin-args.ts";
import { type DeviceTotals } from "../devices/device-totals.ts";
import { type ClassFor, resourcesFromClasses } from "../devices/extended/class-for.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { type CountDevices } from "./amounts.ts";

/** What plugins need to know of device classes. */
export interface ClassKnowledge {
  readonly classFor: ClassFor;
  readonly totals?: DeviceTotals;
}

interface ScoredDevices {
  readonly devices?: CountDevices;
  readonly hooks: Pick<SchedulerPlugin, "prepare" | "follow">;
  basisOf(pod: Pod): string;
}
const none: ScoredDevices = { hooks: {}, basisOf: () => "" };

/** How a plugin that scores nodes by some resources follows the devices behind them. */
export function scoredDevices(resources: readonly ResourceSpec[], { classFor, totals }: ClassKnowledge): ScoredDevices {
  const names = new Set(resources.map(({ name }) => name).filter(isDeviceResource));
  if (names.size === 0 || !totals) return none;
  const scoredFor = (pod: Pod) => resourcesFromClasses(pod, classFor).filter((name) => names.has(name));
  return {
    devices: (node, resource) => totals.of(node, resource),
    hooks: {
      prepare(pod, snapshot) {
        const scored = scoredFor(pod);
        return scored.length > 0 ? totals.refresh(scored, snapshot.nodes) : undefined;
      },
      follow: () => () => totals.close(),
    },
    basisOf: (pod) => totals.basisOf(scoredFor(pod)),
  };
}
