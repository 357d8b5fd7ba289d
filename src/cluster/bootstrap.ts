import { Namespace } from "#api/core/namespace.ts";
import { Endpoints } from "#api/core/service/endpoints.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { FlowSchema } from "#api/flowcontrol/flow-schema.ts";
import { PriorityLevelConfiguration } from "#api/flowcontrol/priority-level-configuration.ts";
import { ServiceCIDR } from "#api/networking/service-cidr.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { Role } from "#api/rbac/role.ts";
import { RoleBinding } from "#api/rbac/role-binding.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { PriorityClass, systemPriorityClasses } from "#api/scheduling/priority-class.ts";
import { isAlreadyExists, StatusError } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import {
  bootstrapClusterRoleBindings,
  bootstrapClusterRoles,
  bootstrapRoleBindings,
  bootstrapRoles,
  ensureBootstrapRoles,
} from "#server/authorize/bootstrap/bootstrap-roles.ts";
import { type Health } from "#server/discovery/health.ts";
import { mandatoryLevels, mandatorySchemas, suggestedFlows } from "#server/flowcontrol/bootstrap/bootstrap-flows.ts";
import {
  kubernetesEndpoints,
  kubernetesService,
  kubernetesSlice,
  type ServerPlace,
} from "#server/kubernetes-service.ts";
import { type Kept } from "./keep-bootstrap.ts";

const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** Creates what every cluster has before its first user: namespaces, priority classes and default roles. */
export async function bootstrapCluster(
  client: Client,
  health?: Pick<Health, "step">,
  persist: Persist = (step) => step(),
): Promise<void> {
  const steps = [
    "start-system-namespaces-controller",
    "scheduling/bootstrap-system-priority-classes",
    "rbac/bootstrap-roles",
  ];
  const [namespacesMade, classesMade, rolesMade] = steps.map((name) => health?.step(name));
  await persist(() => Promise.all(namespaces.map((name) => ensure(client, Namespace, { metadata: { name } }))));
  namespacesMade?.();
  await persist(() =>
    Promise.all(systemPriorityClasses.map((priorityClass) => ensure(client, PriorityClass, priorityClass))),
  );
  classesMade?.();
  await persist(() => ensureBootstrapRoles(client));
  rolesMade?.();
}

/** Runs a step of the start that may be repeated. */
export type Persist = (step: () => Promise<unknown>) => Promise<unknown>;

/** How long a start waits for a store that has answered before and does not now. */
const storePatienceMs = 30_000;
const storePauseMs = 200;

/** Repeats a step while the store does not confirm its writes: a member of etcd may be away for a moment. */
export function persistently(clock: Pick<Clock, "now" | "sleep">, log: Pick<Log, "warn">): Persist {
  return async (step) => {
    const until = clock.now() + storePatienceMs;
    for (;;) {
      try {
        return await step();
      } catch (error) {
        if (!isStoreAway(error) || clock.now() >= until) throw error;
        log.warn("the store does not answer while the server starts, trying again", { error });
      }
      await clock.sleep(storePauseMs);
    }
  };
}

const isStoreAway = (error: unknown): boolean =>
  error instanceof StatusError && (error.reason === "ServiceUnavailable" || error.reason === "Timeout");

/** The objects by which pods find the server, which also come back. */
export const announcedObjects = (place: ServerPlace, cidrs: readonly string[]): readonly Kept[] => [
  kept(Service, () => [kubernetesService(place)]),
  kept(Endpoints, () => [kubernetesEndpoints(place)]),
  kept(EndpointSlice, () => [kubernetesSlice(place)]),
  kept(ServiceCIDR, () => [{ metadata: { name: "kubernetes" }, spec: { cidrs: [...cidrs] } }]),
];

const kept = <T extends ApiObject>(resource: Resource<T>, objects: () => readonly InputOf<T>[]): Kept => ({
  resource: resource as unknown as Resource,
  objects: objects as unknown as Kept["objects"],
});

/** What comes back when it is deleted. */
export const keptObjects: readonly Kept[] = [
  kept(Namespace, () => namespaces.map((name) => ({ metadata: { name } }))),
  kept(PriorityClass, () => systemPriorityClasses),
  kept(ClusterRole, bootstrapClusterRoles),
  kept(ClusterRoleBinding, bootstrapClusterRoleBindings),
  kept(Role, bootstrapRoles),
  kept(RoleBinding, bootstrapRoleBindings),
  kept(PriorityLevelConfiguration, () => [...mandatoryLevels, ...suggestedFlows().levels]),
  kept(FlowSchema, () => [...mandatorySchemas, ...suggestedFlows().schemas]),
];

async function ensure<T extends ApiObject>(client: Client, resource: Resource<T>, object: InputOf<T>): Promise<void> {
  try {
    await client.create(resource, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
