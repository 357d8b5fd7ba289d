import { ReplicaSet } from "#api/apps/replica-set.ts";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { type Pod } from "#api/core/pod.ts";
import { ReplicationController } from "#api/core/replication-controller.ts";
import { Service } from "#api/core/service.ts";
import { type LabelSelector, matchesLabels, type Requirement, requirementsOf } from "#api/meta/label-selector.ts";
import { controllerOf } from "#api/meta/owner.ts";
import { type Informers } from "#runtime/informer.ts";

/** The pods that belong together with a pod: those of its services and of its controller. */
export type FindPeers = (pod: Pod) => readonly Requirement[];

export function findPeers(informers: Informers): FindPeers {
  const services = informers.of(Service);
  const selectorOf = controllerSelectors(informers);
  return (pod) => {
    const { namespace, labels } = pod.metadata;
    const merged: Record<string, string> = {};
    for (const { spec } of services.list(namespace)) {
      if (spec.selector && matchesLabels(spec.selector, labels)) Object.assign(merged, spec.selector);
    }
    const selector = selectorOf(pod);
    const ofController = selector ? requirementsIn(selector) : none;
    const ofServices = requirementsOf({ matchLabels: merged });
    return ofServices.length > 0 ? [...ofServices, ...ofController] : ofController;
  };
}

/** The same array for all pods of a controller. */
function requirementsIn(selector: LabelSelector): readonly Requirement[] {
  const known = requirements.get(selector);
  if (known) return known;
  const found = requirementsOf(selector);
  requirements.set(selector, found);
  return found;
}
const requirements = new WeakMap<LabelSelector, readonly Requirement[]>();
const none: readonly Requirement[] = [];

function controllerSelectors(informers: Informers): (pod: Pod) => LabelSelector | undefined {
  const [replicaSets, statefulSets] = [informers.of(ReplicaSet), informers.of(StatefulSet)];
  const replicationControllers = informers.of(ReplicationController);
  return (pod) => {
    const { namespace } = pod.metadata;
    const owner = controllerOf(pod);
    if (!owner) return undefined;
    const { name } = owner;
    switch (`${owner.apiVersion} ${owner.kind}`) {
      case "apps/v1 ReplicaSet":
        return replicaSets.get({ namespace, name })?.spec.selector;
      case "apps/v1 StatefulSet":
        return statefulSets.get({ namespace, name })?.spec.selector;
      case "v1 ReplicationController": {
        const matchLabels = replicationControllers.get({ namespace, name })?.spec.selector;
        return matchLabels && { matchLabels };
      }
      default:
        return undefined;
    }
  };
}
