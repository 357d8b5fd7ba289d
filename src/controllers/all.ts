import { allResources } from "#api/all.ts";
import { type Client } from "#client/client.ts";
import { runTogether } from "#lib/async/tasks.ts";
import { type JwtPart } from "#lib/crypto/jwt.ts";
import { fixedKinds, type Kinds, noRemoteKinds, type RemoteKinds } from "#runtime/kinds.ts";
import { type ReconcilerFactory, type RunDeps, runReconcilers } from "#runtime/run-reconciler.ts";
import { clusterRoleAggregationController } from "./cluster-role-aggregation.ts";
import { cronJobController } from "./cron-job/cron-job.ts";
import { daemonSetController } from "./daemon-set/daemon-set.ts";
import { deploymentController } from "./deployment/deployment.ts";
import { disruptionController } from "./disruption/disruption.ts";
import { staleDisruptionController } from "./disruption/stale-disruption.ts";
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
import { statefulSetController } from "./stateful-set/stateful-set.ts";
import { tokenController } from "./token.ts";

export interface ControllerOptions extends NodeIpamOptions {
  /** The certificates, in PEM, by which pods verify the API server. */
  readonly rootCa: string;
  /** Signs the tokens in Secrets. Without it nobody fills them. */
  signToken?(claims: JwtPart): string;
  /** Every kind that is currently served; default: the built-in ones. */
  readonly kinds?: Kinds;
  /** Those that other servers serve; default: none. */
  readonly remoteKinds?: RemoteKinds;
}

const builtIn = fixedKinds(allResources);

/**
 * Every reconciler, in the order in which they start, with its service account in kube-system. Its events come from
 * that account, or from the component name that upstream uses.
 */
const reconcilers = ({
  rootCa,
  signToken: sign,
  kinds = builtIn,
  remoteKinds = noRemoteKinds,
  ...options
}: ControllerOptions): readonly (readonly [account: string, ReconcilerFactory, component?: string])[] => [
  ["service-account-controller", serviceAccountController],
  ...(sign ? ([["kube-controller-manager", tokenController({ rootCa, sign })]] as const) : []),
  ["root-ca-cert-publisher", rootCaController(rootCa)],
  ["clusterrole-aggregation-controller", clusterRoleAggregationController],
  ["node-controller", nodeIpamController(options), "cidrAllocator"],
  ["node-controller", nodeLifecycleController],
  ["node-controller", taintEvictionController, "taint-eviction-controller"],
  ["replicaset-controller", replicaSetController],
  ["replication-controller", replicationController],
  ["deployment-controller", deploymentController],
  ["daemon-set-controller", daemonSetController, "daemonset-controller"],
  ["statefulset-controller", statefulSetController],
  ["job-controller", jobController],
  ["job-controller", jobPodReleaser],
  ["cronjob-controller", cronJobController],
  ["ttl-after-finished-controller", ttlAfterFinishedController],
  ["endpointslice-controller", endpointSliceController, "endpoint-slice-controller"],
  ["pod-garbage-collector", podGcController()],
  ["pvc-protection-controller", claimProtectionController],
  ["pv-protection-controller", volumeProtectionController],
  ["volumeattributesclass-protection-controller", attributesClassProtectionController],
  ["namespace-controller", namespaceController({ kinds, remoteKinds })],
  ["resourcequota-controller", resourceQuotaController(kinds)],
  ["disruption-controller", disruptionController(() => kinds.all()), "controllermanager"],
  ["disruption-controller", staleDisruptionController, "controllermanager"],
];

export interface ControllersDeps extends Omit<RunDeps, "client">, ControllerOptions {
  /** A client as a service account in kube-system, with only the rights of that controller. */
  clientFor(account: string): Client;
  /** Which controllers run, by their accounts; default: all. Those that do not run cost nothing. */
  runs?(account: string): boolean;
}

/** Runs the controllers until the signal fires. */
export async function runControllers(deps: ControllersDeps, signal: AbortSignal): Promise<void> {
  const { kinds = builtIn, remoteKinds = noRemoteKinds, clientFor } = deps;
  const collector = { ...deps, kinds, remoteKinds, client: clientFor("generic-garbage-collector") };
  await runTogether(signal, [
    ...reconcilers(deps)
      .filter(([account]) => deps.runs?.(account) ?? true)
      .map(
        ([account, factory, component = account]) =>
          (stop: AbortSignal) =>
            runReconcilers([factory], { ...deps, client: clientFor(account), component }, stop),
      ),
    (stop) => runGarbageCollector(collector, stop),
  ]);
}
