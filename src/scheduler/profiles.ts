import { Namespace } from "#api/core/namespace.ts";
import { type Client } from "#client/client.ts";
import { type Informers } from "#runtime/informer.ts";
import { type Profile } from "./framework.ts";
import { defaultBinder } from "./plugins/default-binder.ts";
import { imageLocality } from "./plugins/image-locality.ts";
import { interPodAffinity } from "./plugins/inter-pod-affinity/inter-pod-affinity.ts";
import { nodeAffinity } from "./plugins/node-affinity.ts";
import { nodeName } from "./plugins/node-name.ts";
import { nodePorts } from "./plugins/node-ports.ts";
import { nodeResourcesBalancedAllocation } from "./plugins/node-resources-balanced-allocation.ts";
import { nodeResourcesFit } from "./plugins/node-resources-fit.ts";
import { nodeUnschedulable } from "./plugins/node-unschedulable.ts";
import { type FindPeers, findPeers } from "./plugins/pod-topology-spread/default-selector.ts";
import { podTopologySpread } from "./plugins/pod-topology-spread/pod-topology-spread.ts";
import { prioritySort } from "./plugins/priority-sort.ts";
import { schedulingGates } from "./plugins/scheduling-gates.ts";
import { taintToleration } from "./plugins/taint-toleration.ts";
import { type NamespaceLabels } from "./topology/affinity-term.ts";

export interface ProfileDeps {
  readonly client: Client;
  readonly peersOf: FindPeers;
  readonly namespaceLabels: NamespaceLabels;
}

/** What the plugins need to know of a cluster. */
export const profileDeps = (client: Client, informers: Informers): ProfileDeps => {
  const namespaces = informers.of(Namespace);
  return {
    client,
    peersOf: findPeers(informers),
    namespaceLabels: (name) => namespaces.get({ name })?.metadata.labels,
  };
};

/** The default scheduler: its plugins in order, each with its default weight. */
export const defaultProfile = ({ client, peersOf, namespaceLabels }: ProfileDeps): Profile => ({
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
    nodeResourcesBalancedAllocation,
    imageLocality,
    podTopologySpread(peersOf),
    interPodAffinity(namespaceLabels),
    defaultBinder(client),
  ],
});
