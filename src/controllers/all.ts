import { allResources } from "#api/all.ts";
import { type Client } from "#client/client.ts";
import { runTogether } from "#lib/async/tasks.ts";
import { type JwtPart } from "#lib/crypto/jwt.ts";
import { fixedKinds, type Kinds, noRemoteKinds, type RemoteKinds } from "#runtime/kinds.ts";
import { type ReconcilerFactory, type RunDeps, runReconcilers } from "#runtime/run-reconciler.ts";
import { attachDetachController } from "./attach-detach/attach-detach.ts";
import { strandedAttachmentController } from "./attach-detach/stranded-attachments.ts";
import { autoscalerController } from "./autoscaler/autoscaler.ts";
import { approvingController } from "./certificates/approving.ts";
import { requestCleaner } from "./certificates/cleaner.ts";
import { type SigningOptions, signingController } from "./certificates/signing.ts";
import { clusterRoleAggregationController } from "./cluster-role-aggregation.ts";
import { cronJobController } from "./cron-job/cron-job.ts";
import { daemonSetController } from "./daemon-set/daemon-set.ts";
import { deploymentController } from "./deployment/deployment.ts";
import { deviceTaintEvictionController } from "./devices/device-taint-eviction.ts";
import { podClaimsController } from "./devices/pod-claims.ts";
import { resourceClaimController } from "./devices/resource-claim.ts";
import { disruptionController } from "./disruption/disruption.ts";
import { staleDisruptionController } from "./disruption/stale-disruption.ts";
import { endpointSliceController } from "./endpoint-slice/endpoint-slice.ts";
import { endpointSliceMirroringController } from "./endpoint-slice-mirroring/endpoint-slice-mirroring.ts";
import { endpointsController } from "./endpoints/endpoints.ts";
import { runGarbageCollector } from "./garbage-collector/garbage-collector.ts";
import { jobController } from "./job/job.ts";
import { jobPodReleaser } from "./job/orphan-pods.ts";
import { ttlAfterFinishedController } from "./job/ttl-after-finished.ts";
import { namespaceController } from "./namespace/namespace.ts";
import { type NodeIpamOptions, nodeIpamController } from "./node/node-ipam.ts";
import { nodeLifecycleController } from "./node/node-lifecycle.ts";
import { nodeTtlController } from "./node/node-ttl.ts";
import { type NodeLifecycleOptions } from "./node/plan-node-health.ts";
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
import { serviceCidrController } from "./service-cidr/service-cidr.ts";
import { serviceLbController } from "./service-lb.ts";
import { statefulSetController } from "./stateful-set/stateful-set.ts";
import { claimBinder } from "./storage/claim-binder.ts";
import { ephemeralVolumeController } from "./storage/ephemeral-volume.ts";
import { volumeBinder } from "./storage/volume-binder.ts";
import { volumeExpander } from "./storage/volume-expander.ts";
import { tokenController } from "./token.ts";
import { bootstrapSigner } from "./tokens/bootstrap-signer.ts";
import { type LegacyTokenOptions, legacyTokenCleaner } from "./tokens/legacy-token-cleaner.ts";
import { tokenCleaner } from "./tokens/token-cleaner.ts";

export interface ControllerOptions extends NodeIpamOptions {
  /** The certificates, in PEM, by which pods verify the API server. */
  readonly rootCa: string;
  /** Signs the tokens in Secrets. Without it nobody fills them. */
  signToken?(claims: JwtPart): string;
  /** Issues certificates. Without it nobody does. */
  readonly signer?: SigningOptions;
  readonly legacyTokens?: LegacyTokenOptions | undefined;
  readonly nodeLifecycle?: NodeLifecycleOptions | undefined;
  /** Every kind that is currently served; default: the built-in ones. */
  readonly kinds?: Kinds;
  /** Those that other servers serve; default: none. */
  readonly remoteKinds?: RemoteKinds;
}

const builtIn = fixedKinds(allResources);

/** A reconciler, and the controller that it belongs to. */
type Row = readonly [
  /** Upstream's name of the controller, by which `--controllers` chooses it. */
  controller: string,
  /** Its service account in kube-system. */
  account: string,
  factory: ReconcilerFactory,
  /** The source of its events, where it is not the account. */
  component?: string,
];

/** Every reconciler, in the order in which they start. */
const reconcilers = (options: ControllerOptions): readonly Row[] => [
  ...identities(options),
  ...nodes(options),
  ...workloads,
  ...services,
  ...storage,
  ...namespaces(options),
  ...certificates(options),
];

const identities = ({ rootCa, signToken: sign, legacyTokens }: ControllerOptions): readonly Row[] => [
  ["serviceaccount-controller", "service-account-controller", serviceAccountController],
  ...optional(sign && tokenController({ rootCa, sign }), (factory) => [
    "serviceaccount-token-controller",
    "kube-controller-manager",
    factory,
  ]),
  [
    "legacy-serviceaccount-token-cleaner-controller",
    "legacy-service-account-token-cleaner",
    legacyTokenCleaner(legacyTokens),
  ],
  ["root-ca-certificate-publisher-controller", "root-ca-cert-publisher", rootCaController(rootCa)],
  ["clusterrole-aggregation-controller", "clusterrole-aggregation-controller", clusterRoleAggregationController],
  ["bootstrap-signer-controller", "bootstrap-signer", bootstrapSigner],
  ["token-cleaner-controller", "token-cleaner", tokenCleaner],
];

const nodes = ({ nodeLifecycle, ...options }: ControllerOptions): readonly Row[] => [
  ["node-ipam-controller", "node-controller", nodeIpamController(options), "cidrAllocator"],
  ["node-lifecycle-controller", "node-controller", nodeLifecycleController(nodeLifecycle)],
  ["taint-eviction-controller", "node-controller", taintEvictionController, "taint-eviction-controller"],
  ["ttl-controller", "ttl-controller", nodeTtlController],
];

const workloads: readonly Row[] = [
  ["replicaset-controller", "replicaset-controller", replicaSetController],
  ["replicationcontroller-controller", "replication-controller", replicationController],
  ["deployment-controller", "deployment-controller", deploymentController],
  ["daemonset-controller", "daemon-set-controller", daemonSetController, "daemonset-controller"],
  ["statefulset-controller", "statefulset-controller", statefulSetController],
  ["job-controller", "job-controller", jobController],
  ["job-controller", "job-controller", jobPodReleaser],
  ["cronjob-controller", "cronjob-controller", cronJobController],
  ["ttl-after-finished-controller", "ttl-after-finished-controller", ttlAfterFinishedController],
  ["pod-garbage-collector-controller", "pod-garbage-collector", podGcController()],
];

const services: readonly Row[] = [
  ["service-lb-controller", "service-controller", serviceLbController],
  ["endpointslice-controller", "endpointslice-controller", endpointSliceController, "endpoint-slice-controller"],
  ["endpoints-controller", "endpoint-controller", endpointsController],
  [
    "endpointslice-mirroring-controller",
    "endpointslicemirroring-controller",
    endpointSliceMirroringController,
    "endpoint-slice-mirroring-controller",
  ],
  ["service-cidr-controller", "service-cidrs-controller", serviceCidrController, "service-cidr-controller"],
];

const binder = ["persistentvolume-binder-controller", "persistent-volume-binder"] as const;
const attacher = ["persistentvolume-attach-detach-controller", "attachdetach-controller"] as const;
const storage: readonly Row[] = [
  [...binder, claimBinder, "persistentvolume-controller"],
  [...binder, volumeBinder, "persistentvolume-controller"],
  [...attacher, attachDetachController],
  [...attacher, strandedAttachmentController],
  ["ephemeral-volume-controller", "ephemeral-volume-controller", ephemeralVolumeController, "ephemeral_volume"],
  ["resourceclaim-controller", "resource-claim-controller", podClaimsController, "resource_claim"],
  ["resourceclaim-controller", "resource-claim-controller", resourceClaimController, "resource_claim"],
  ["device-taint-eviction-controller", "device-taint-eviction-controller", deviceTaintEvictionController],
  ["persistentvolume-expander-controller", "expand-controller", volumeExpander, "volume_expand"],
  ["persistentvolumeclaim-protection-controller", "pvc-protection-controller", claimProtectionController],
  ["persistentvolume-protection-controller", "pv-protection-controller", volumeProtectionController],
  [
    "volumeattributesclass-protection-controller",
    "volumeattributesclass-protection-controller",
    attributesClassProtectionController,
  ],
];

const namespaces = ({ kinds = builtIn, remoteKinds = noRemoteKinds }: ControllerOptions): readonly Row[] => [
  ["namespace-controller", "namespace-controller", namespaceController({ kinds, remoteKinds })],
  ["resourcequota-controller", "resourcequota-controller", resourceQuotaController(kinds)],
  ["horizontal-pod-autoscaler-controller", "horizontal-pod-autoscaler", autoscalerController(() => kinds.all())],
  ["disruption-controller", "disruption-controller", disruptionController(() => kinds.all()), "controllermanager"],
  ["disruption-controller", "disruption-controller", staleDisruptionController, "controllermanager"],
];

const certificates = ({ signer }: ControllerOptions): readonly Row[] => [
  ["certificatesigningrequest-approving-controller", "certificate-controller", approvingController],
  ...optional(signer && signingController(signer), (factory) => [
    "certificatesigningrequest-signing-controller",
    "certificate-controller",
    factory,
  ]),
  ["certificatesigningrequest-cleaner-controller", "certificate-controller", requestCleaner],
];

const optional = (factory: ReconcilerFactory | undefined, row: (factory: ReconcilerFactory) => Row): readonly Row[] =>
  factory ? [row(factory)] : [];

const collectorName = "garbage-collector-controller";

/** The names of all controllers, by which `--controllers` chooses them. */
export const controllerNames: ReadonlySet<string> = new Set([
  ...reconcilers({
    rootCa: "",
    signToken: () => "",
    signer: { authority: () => ({ certificate: "", key: "" }) },
  }).map(([name]) => name),
  collectorName,
]);

export interface ControllersDeps extends Omit<RunDeps, "client">, ControllerOptions {
  /** A client as a service account in kube-system, with only the rights of that controller. */
  clientFor(account: string): Client;
  /** Which controllers run, by upstream's names; default: all. Those that do not run cost nothing. */
  runs?(controller: string): boolean;
}

/** Runs the controllers until the signal fires. */
export async function runControllers(deps: ControllersDeps, signal: AbortSignal): Promise<void> {
  const { kinds = builtIn, remoteKinds = noRemoteKinds, clientFor } = deps;
  const runs = (controller: string): boolean => deps.runs?.(controller) ?? true;
  // Accounts that may create a kind often may not list it. The user of upstream's informers may list every kind.
  const reader = clientFor("kube-controller-manager");
  const collect = (stop: AbortSignal) =>
    runGarbageCollector({ ...deps, kinds, remoteKinds, client: clientFor("generic-garbage-collector") }, stop);
  await runTogether(signal, [
    ...reconcilers(deps)
      .filter(([controller]) => runs(controller))
      .map(
        ([, account, factory, component = account]) =>
          (stop: AbortSignal) =>
            runReconcilers([factory], { ...deps, client: clientFor(account), reader, component }, stop),
      ),
    ...(runs(collectorName) ? [collect] : []),
  ]);
}
