import { nearest } from "#lib/text/nearest.ts";

/** The administrator's choice is not possible. The message names the flag and what to do. */
export class ControllerChoiceError extends Error {
  override readonly name = "ControllerChoiceError";
}

/** Every controller of upstream's v1.36, with its older names. */
export const upstreamControllers: ReadonlyMap<string, readonly string[]> = new Map([
  ["bootstrap-signer-controller", ["bootstrapsigner"]],
  ["certificatesigningrequest-approving-controller", ["csrapproving"]],
  ["certificatesigningrequest-cleaner-controller", ["csrcleaner"]],
  ["certificatesigningrequest-signing-controller", ["csrsigning"]],
  ["cloud-node-lifecycle-controller", ["cloud-node-lifecycle"]],
  ["clusterrole-aggregation-controller", ["clusterrole-aggregation"]],
  ["cronjob-controller", ["cronjob"]],
  ["daemonset-controller", ["daemonset"]],
  ["deployment-controller", ["deployment"]],
  ["device-taint-eviction-controller", []],
  ["disruption-controller", ["disruption"]],
  ["endpoints-controller", ["endpoint"]],
  ["endpointslice-controller", ["endpointslice"]],
  ["endpointslice-mirroring-controller", ["endpointslicemirroring"]],
  ["ephemeral-volume-controller", ["ephemeral-volume"]],
  ["garbage-collector-controller", ["garbagecollector"]],
  ["horizontal-pod-autoscaler-controller", ["horizontalpodautoscaling"]],
  ["job-controller", ["job"]],
  ["kube-apiserver-serving-clustertrustbundle-publisher-controller", []],
  ["legacy-serviceaccount-token-cleaner-controller", ["legacy-service-account-token-cleaner"]],
  ["namespace-controller", ["namespace"]],
  ["node-ipam-controller", ["nodeipam"]],
  ["node-lifecycle-controller", ["nodelifecycle"]],
  ["node-route-controller", ["route"]],
  ["persistentvolume-attach-detach-controller", ["attachdetach"]],
  ["persistentvolume-binder-controller", ["persistentvolume-binder"]],
  ["persistentvolume-expander-controller", ["persistentvolume-expander"]],
  ["persistentvolume-protection-controller", ["pv-protection"]],
  ["persistentvolumeclaim-protection-controller", ["pvc-protection"]],
  ["pod-garbage-collector-controller", ["podgc"]],
  ["podcertificaterequest-cleaner-controller", []],
  ["podgroup-protection-controller", []],
  ["replicaset-controller", ["replicaset"]],
  ["replicationcontroller-controller", ["replicationcontroller"]],
  ["resourceclaim-controller", ["resource-claim-controller"]],
  ["resourcepoolstatusrequest-controller", []],
  ["resourcequota-controller", ["resourcequota"]],
  ["root-ca-certificate-publisher-controller", ["root-ca-cert-publisher"]],
  ["selinux-warning-controller", []],
  ["service-cidr-controller", []],
  ["service-lb-controller", ["service"]],
  ["serviceaccount-controller", ["serviceaccount"]],
  ["serviceaccount-token-controller", ["serviceaccount-token"]],
  ["statefulset-controller", ["statefulset"]],
  ["storage-version-migrator-controller", ["svm"]],
  ["storageversion-garbage-collector-controller", ["storage-version-gc"]],
  ["taint-eviction-controller", []],
  ["token-cleaner-controller", ["tokencleaner"]],
  ["ttl-after-finished-controller", ["ttl-after-finished"]],
  ["ttl-controller", ["ttl"]],
  ["validatingadmissionpolicy-status-controller", []],
  ["volumeattributesclass-protection-controller", []],
]);

const byAlias = new Map([...upstreamControllers].flatMap(([name, aliases]) => aliases.map((alias) => [alias, name])));

/** A cluster may have another controller for this, such as that of a cloud. So `*` does not include them. */
const onlyByName = new Set(["service-lb-controller"]);

/**
 * Reads `--controllers` as upstream does: `*` is all, `NAME` turns one on and `-NAME` off, and the first that names a
 * controller counts. `existing` are those that we have: turning on another one is a mistake.
 */
export function chooseControllers(
  choice: readonly string[],
  existing: ReadonlySet<string>,
): (controller: string) => boolean {
  const wanted = new Map<string, boolean>();
  for (const word of choice) {
    if (word === "*") continue;
    const isOn = !word.startsWith("-");
    const name = controllerOf(isOn ? word : word.slice(1), existing);
    if (isOn && !existing.has(name)) {
      throw new ControllerChoiceError(`--controllers: ${name} is not part of Orlop: remove it`);
    }
    if (!wanted.has(name)) wanted.set(name, isOn);
  }
  const others = choice.includes("*");
  return (controller) => wanted.get(controller) ?? (others && !onlyByName.has(controller));
}

function controllerOf(word: string, existing: ReadonlySet<string>): string {
  const name = byAlias.get(word) ?? word;
  if (existing.has(name) || upstreamControllers.has(name)) return name;
  const guess = nearest(word, [...existing, ...byAlias.keys()]);
  const advice = guess ? `did you mean ${guess}?` : `choose from ${[...existing].toSorted().join(", ")}`;
  throw new ControllerChoiceError(
    `--controllers: ${JSON.stringify(word.slice(0, 100))} is not in the list of known controllers: ${advice}`,
  );
}
