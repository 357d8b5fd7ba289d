import { allResources } from "#api/all.ts";
import { type Client } from "#client/client.ts";
import { runTogether } from "#lib/async/tasks.ts";
import { fixedKinds, type Kinds } from "#runtime/kinds.ts";
import { type ReconcilerFactory, type RunDeps, runReconcilers } from "#runtime/run-reconciler.ts";
import { clusterRoleAggregationController } from "./cluster-role-aggregation.ts";
import { cronJobController } from "./cron-job/cron-job.ts";
import { deploymentController } from "./deployment/deployment.ts";
import { endpointSliceController } from "./endpoint-slice/endpoint-slice.ts";
import { runGarbageCollector } from "./garbage-collector/garbage-collector.ts";
import { jobController } from "./job/job.ts";
import { jobPodReleaser } from "./job/orphan-pods.ts";
import { ttlAfterFinishedController } from "./job/ttl-after-finished.ts";
import { namespaceController } from "./namespace/namespace.ts";
import { type NodeIpamOptions, nodeIpamController } from "./node/node-ipam.ts";
import { nodeLifecycleController } from "./node/node-lifecycle.ts";
import { taintEvictionController } from "./node/taint-eviction.ts";
import { podGcController } from "./pod-gc.ts";
import { attributesClassProtectionController } from "./protection/attributes-class-protection.ts";
import { claimProtectionController } from "./protection/claim-protection.ts";
import { volumeProtectionController } from "./protection/volume-protection.ts";
import { resourceQuotaController } from "./quota/resource-quota.ts";
import { replicaSetController } from "./replicas/replica-set.ts";
import { replicationController } from "./replicas/replication-controller.ts";
import { rootCaController } from "./root-ca.ts";
import { serviceAccountController } from "./service-account.ts";

export interface ControllerOptions extends NodeIpamOptions {
  /** The certificates, in PEM, by which pods verify the API server. */
  readonly rootCa: string;
  /** Every kind that is currently served; default: the built-in ones. */
  readonly kinds?: Kinds;
}

const builtIn = fixedKinds(allResources);

/**
 * Every reconciler, in the order in which they start, with its service account in kube-system. Its events come from
 * that account, or from the component name that upstream uses.
 */
const reconcilers = ({
  rootCa,
  kinds = builtIn,
  ...options
}: ControllerOptions): readonly (readonly [account: string, ReconcilerFactory, component?: string])[] => [
  ["service-account-controller", serviceAccountController],
  ["root-ca-cert-publisher", rootCaController(rootCa)],
  ["clusterrole-aggregation-controller", clusterRoleAggregationController],
  ["node-controller", nodeIpamController(options), "cidrAllocator"],
  ["node-controller", nodeLifecycleController],
  ["node-controller", taintEvictionController, "taint-eviction-controller"],
  ["replicaset-controller", replicaSetController],
  ["replication-controller", replicationController],
  ["deployment-controller", deploymentController],
  ["job-controller", jobController],
  ["job-controller", jobPodReleaser],
  ["cronjob-controller", cronJobController],
  ["ttl-after-finished-controller", ttlAfterFinishedController],
  ["endpointslice-controller", endpointSliceController, "endpoint-slice-controller"],
  ["pod-garbage-collector", podGcController()],
  ["pvc-protection-controller", claimProtectionController],
  ["pv-protection-controller", volumeProtectionController],
  ["volumeattributesclass-protection-controller", attributesClassProtectionController],
  ["namespace-controller", namespaceController(() => kinds.all())],
  ["resourcequota-controller", resourceQuotaController(() => kinds.all())],
];

export interface ControllersDeps extends Omit<RunDeps, "client">, ControllerOptions {
  /** A client as a service account in kube-system, with only the rights of that controller. */
  clientFor(account: string): Client;
}

/** Runs all controllers until the signal fires. */
export async function runControllers(deps: ControllersDeps, signal: AbortSignal): Promise<void> {
  const { kinds = builtIn, clientFor } = deps;
  const collector = { ...deps, kinds, client: clientFor("generic-garbage-collector") };
  await runTogether(signal, [
    ...reconcilers(deps).map(
      ([account, factory, component = account]) =>
        (stop: AbortSignal) =>
          runReconcilers([factory], { ...deps, client: clientFor(account), component }, stop),
    ),
    (stop) => runGarbageCollector(collector, stop),
  ]);
}
