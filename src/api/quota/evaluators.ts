import { ConfigMap } from "#api/core/config-map.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { ReplicationController } from "#api/core/replication-controller.ts";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { Secret } from "#api/core/secret.ts";
import { Service } from "#api/core/service.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { groupResource, type Resource } from "#api/resource.ts";
import { deviceClaimEvaluator } from "./device-claim-usage.ts";
import { countName, type Evaluator } from "./evaluator.ts";
import { podEvaluator } from "./pod-usage.ts";
import { serviceEvaluator } from "./service-usage.ts";
import { volumeClaimEvaluator } from "./volume-claim-usage.ts";

type Kind = Pick<Resource, "group" | "plural">;
const nameOf = (kind: Kind): string => groupResource(kind, kind.plural);

/** Kinds that are limited by more than their number. Each evaluator gets only objects of its kind. */
const special = new Map<string, Evaluator>([
  [nameOf(Pod), podEvaluator as unknown as Evaluator],
  [nameOf(Service), serviceEvaluator as unknown as Evaluator],
  [nameOf(PersistentVolumeClaim), volumeClaimEvaluator as unknown as Evaluator],
  [nameOf(ResourceClaim), deviceClaimEvaluator as unknown as Evaluator],
]);

/** The kinds that decide what objects of other kinds take. */
export const influencing: readonly Resource[] = [...special.values()].flatMap(({ influences = [] }) =>
  influences.map(({ resource }) => resource),
);

/** Kinds whose number is also limited under their own name. */
const named = new Set([ConfigMap, ReplicationController, ResourceQuota, Secret].map(nameOf));

const byResource = new WeakMap<object, Evaluator>();

/** How quotas measure the objects of a kind. */
export function evaluatorOf(resource: Kind): Evaluator {
  let evaluator = byResource.get(resource);
  if (!evaluator) {
    evaluator = special.get(nameOf(resource)) ?? countEvaluator(resource);
    byResource.set(resource, evaluator);
  }
  return evaluator;
}

function countEvaluator(resource: Kind): Evaluator {
  const names = [countName(resource), ...(named.has(nameOf(resource)) ? [resource.plural] : [])];
  const usage = Object.fromEntries(names.map((name) => [name, "1"]));
  return {
    measures: (name) => names.includes(name),
    isCharged: ({ operation, subresource }) => operation === "CREATE" && subresource === "",
    usage: () => usage,
  };
}

const ignored = new Set(["events", "events.events.k8s.io"]);

/** Whether quotas can limit the kind: it is stored in namespaces, and is not an event. */
export const isLimitable = (resource: Resource): boolean =>
  resource.scope === "Namespaced" && resource.verbs.includes("delete") && !ignored.has(nameOf(resource));
