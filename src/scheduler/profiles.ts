import { Namespace } from "#api/core/namespace.ts";
import { type Informers } from "#runtime/informer.ts";
import { type Profile } from "./framework.ts";
import { defaultBinder } from "./plugins/default-binder.ts";
import { type DynamicResourcesDeps, dynamicResources } from "./plugins/dynamic-resources.ts";
import { imageLocality } from "./plugins/image-locality.ts";
import { interPodAffinity } from "./plugins/inter-pod-affinity/inter-pod-affinity.ts";
import { nodeAffinity } from "./plugins/node-affinity.ts";
import { nodeName } from "./plugins/node-name.ts";
import { nodePorts } from "./plugins/node-ports.ts";
import { nodeResourcesBalancedAllocation } from "./plugins/node-resources-balanced-allocation.ts";
import { nodeResourcesFit } from "./plugins/node-resources-fit.ts";
import { nodeUnschedulable } from "./plugins/node-unschedulable.ts";
import { findPeers } from "./plugins/pod-topology-spread/default-selector.ts";
import { podTopologySpread } from "./plugins/pod-topology-spread/pod-topology-spread.ts";
import { prioritySort } from "./plugins/priority-sort.ts";
import { schedulingGates } from "./plugins/scheduling-gates.ts";
import { taintToleration } from "./plugins/taint-toleration.ts";
import { type VolumeBindingDeps, volumeBinding } from "./plugins/volume-binding.ts";
import { volumeRestrictions } from "./plugins/volume-restrictions.ts";
import { volumeZone } from "./plugins/volume-zone.ts";
import { type NamespaceLabels } from "./topology/affinity-term.ts";

/** The default scheduler: its plugins in order, each with its default weight. */
export const defaultProfile = (deps: VolumeBindingDeps & DynamicResourcesDeps): Profile => ({
  schedulerName: "default-scheduler",
  plugins: [
    schedulingGates,
    prioritySort,
    nodeUnschedulable,
    nodeName,
    taintToleration,
    nodeAffinity,
    nodePorts,
    nodeResourcesFit,
    volumeRestrictions(deps),
    volumeBinding(deps),
    volumeZone(deps),
    nodeResourcesBalancedAllocation,
    imageLocality,
    podTopologySpread(findPeers(deps.informers)),
    interPodAffinity(namespaceLabels(deps.informers)),
    dynamicResources(deps),
    defaultBinder(deps.client),
  ],
});

function namespaceLabels(informers: Informers): NamespaceLabels {
  const namespaces = informers.of(Namespace);
  return (name) => namespaces.get({ name })?.metadata.labels;
}
