import { Namespace } from "#api/core/namespace.ts";
import { type Informers } from "#runtime/informer.ts";
import { type PluginArgs } from "./args/plugin-args.ts";
import { DeviceTotals } from "./devices/device-totals.ts";
import { classesOf } from "./devices/extended/class-for.ts";
import { type Profile, type SchedulerPlugin } from "./framework.ts";
import { defaultBinder } from "./plugins/default-binder.ts";
import { defaultPreemption } from "./plugins/default-preemption.ts";
import { type DynamicResourcesDeps, dynamicResources } from "./plugins/dynamic-resources.ts";
import { imageLocality } from "./plugins/image-locality.ts";
import { interPodAffinity } from "./plugins/inter-pod-affinity/inter-pod-affinity.ts";
import { nodeAffinity } from "./plugins/node-affinity.ts";
import { nodeDeclaredFeatures } from "./plugins/node-declared-features/node-declared-features.ts";
import { nodeName } from "./plugins/node-name.ts";
import { nodePorts } from "./plugins/node-ports.ts";
import { nodeResourcesBalancedAllocation } from "./plugins/node-resources-balanced-allocation.ts";
import { nodeResourcesFit } from "./plugins/node-resources-fit.ts";
import { nodeUnschedulable } from "./plugins/node-unschedulable.ts";
import { nodeVolumeLimits } from "./plugins/node-volume-limits.ts";
import { findPeers } from "./plugins/pod-topology-spread/default-selector.ts";
import { podTopologySpread } from "./plugins/pod-topology-spread/pod-topology-spread.ts";
import { prioritySort } from "./plugins/priority-sort.ts";
import { schedulingGates } from "./plugins/scheduling-gates.ts";
import { taintToleration } from "./plugins/taint-toleration.ts";
import { type VolumeBindingDeps, type VolumePromises, volumeBinding } from "./plugins/volume-binding.ts";
import { volumeRestrictions } from "./plugins/volume-restrictions.ts";
import { volumeZone } from "./plugins/volume-zone.ts";
import { type NamespaceLabels } from "./topology/affinity-term.ts";

export type PluginDeps = VolumeBindingDeps & Partial<VolumePromises> & DynamicResourcesDeps;

/** The plugins of every profile that turns none of them off, in order, each with its default weight. */
export function defaultPlugins(deps: PluginDeps, args: PluginArgs = {}): readonly SchedulerPlugin[] {
  const classFor = classesOf(deps.informers);
  const classes = { classFor, totals: new DeviceTotals(deps, classFor) };
  return [
    schedulingGates,
    prioritySort,
    nodeUnschedulable,
    nodeName,
    taintToleration,
    nodeAffinity(args.NodeAffinity),
    nodePorts,
    nodeResourcesFit(args.NodeResourcesFit, classes),
    volumeRestrictions(deps),
    nodeVolumeLimits(deps),
    volumeBinding(deps, args.VolumeBinding),
    volumeZone(deps),
    podTopologySpread(findPeers(deps.informers), args.PodTopologySpread),
    interPodAffinity(namespaceLabels(deps.informers), args.InterPodAffinity),
    dynamicResources(deps, args.DynamicResources),
    defaultPreemption(args.DefaultPreemption),
    nodeResourcesBalancedAllocation(args.NodeResourcesBalancedAllocation, classes),
    imageLocality,
    defaultBinder(deps.client),
    nodeDeclaredFeatures,
  ];
}

/** The default scheduler. */
export const defaultProfile = (deps: PluginDeps): Profile => ({
  schedulerName: "default-scheduler",
  plugins: defaultPlugins(deps),
});

function namespaceLabels(informers: Informers): NamespaceLabels {
  const namespaces = informers.of(Namespace);
  return (name) => namespaces.get({ name })?.metadata.labels;
}
