import { allResources } from "#api/all.ts";
import { type Resource } from "#api/resource.ts";
import { runTogether } from "#lib/tasks.ts";
import { type ReconcilerFactory, type RunDeps, runReconcilers } from "#runtime/run-reconciler.ts";
import { clusterRoleAggregationController } from "./cluster-role-aggregation.ts";
import { deploymentController } from "./deployment/deployment.ts";
import { endpointSliceController } from "./endpoint-slice/endpoint-slice.ts";
import { runGarbageCollector } from "./garbage-collector/garbage-collector.ts";
import { namespaceController } from "./namespace.ts";
import { type NodeIpamOptions, nodeIpamController } from "./node-ipam.ts";
import { nodeLifecycleController } from "./node-lifecycle.ts";
import { podGcController } from "./pod-gc.ts";
import { replicaSetController } from "./replica-set.ts";
import { rootCaController } from "./root-ca.ts";
import { serviceAccountController } from "./service-account.ts";
import { taintEvictionController } from "./taint-eviction.ts";

export interface ControllerOptions extends NodeIpamOptions {
  /** Certificates, in PEM, by which pods know the API server. */
  readonly rootCa: string;
  /** Every kind that is served, as it is now; default: those that are built in. */
  resources?(): readonly Resource[];
}

const builtIn = () => allResources;

/** Every controller, in the order they start. */
export const controllers = ({
  rootCa,
  resources = builtIn,
  ...options
}: ControllerOptions): readonly ReconcilerFactory[] => [
  serviceAccountController,
  rootCaController(rootCa),
  clusterRoleAggregationController,
  nodeIpamController(options),
  nodeLifecycleController,
  taintEvictionController,
  replicaSetController,
  deploymentController,
  endpointSliceController,
  podGcController(),
  namespaceController(resources),
];

/** Runs all controllers until the signal fires. */
export async function runControllers(deps: RunDeps & ControllerOptions, signal: AbortSignal): Promise<void> {
  const { resources = builtIn } = deps;
  await runTogether(signal, [
    (stop) => runReconcilers(controllers(deps), deps, stop),
    (stop) => runGarbageCollector({ ...deps, resources }, stop),
  ]);
}
