import { Node } from "#api/core/node.ts";
import { provisionerAnnotation, selectedNodeAnnotation } from "#api/core/persistent-volume/binding.ts";
import { isGrowing } from "#api/core/persistent-volume/growth.ts";
import { classOfClaim } from "#api/core/persistent-volume/match-volume.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { ignoreNotFound, isAlreadyExists } from "#api/status.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { hostnameLabel, localProvisioner } from "#api/well-known.ts";
import { type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { type RunDeps, runReconcilers } from "#runtime/run-reconciler.ts";
import { type VolumeDirectories } from "./directories.ts";
import { ensureLocalClass } from "./local-class.ts";
import { isOwnVolume, planProvision, provisionerFinalizer, volumeNameFor } from "./plan-provision.ts";
import { planRemoval } from "./plan-removal.ts";

export interface ProvisionerOptions {
  /** Whether this provisioner makes the volumes of a node. */
  serves(node: string): boolean;
  readonly directories: VolumeDirectories;
  /** Whether it only acts for claims that were given to its nodes, and another one looks after the class and all others. */
  readonly isFurther?: boolean;
}

/** Makes directories of this node for claims that were given to it, and removes them after use. */
export async function runProvisioner(options: ProvisionerOptions, deps: RunDeps, signal: AbortSignal): Promise<void> {
  const volumes = deps.informers.of(PersistentVolume);
  await volumes.synced(signal);
  await options.directories.tidy((name) => volumes.get({ name }) !== undefined);
  if (!options.isFurther) await ensureLocalClass(deps, signal);
  const factories = [claimProvisioner(options), claimGrower(options), volumeRemover(options)];
  await runReconcilers(factories, { ...deps, component: localProvisioner }, signal);
}

const claimProvisioner =
  ({ serves, directories, isFurther = false }: ProvisionerOptions) =>
  (deps: ReconcilerDeps): Reconciler<PersistentVolumeClaim> => ({
    name: "local-volume-provisioner",
    reconciles: PersistentVolumeClaim,
    concerns: ({ metadata: { annotations, deletionTimestamp }, spec }) =>
      annotations?.[provisionerAnnotation] === localProvisioner &&
      !spec.volumeName &&
      !deletionTimestamp &&
      (annotations[selectedNodeAnnotation] === undefined ? !isFurther : serves(annotations[selectedNodeAnnotation])),
    reconcile: (claim, signal) => provision(deps, { claim, directories }, signal),
  });

interface Provision {
  readonly claim: PersistentVolumeClaim;
  readonly directories: VolumeDirectories;
}

async function provision(deps: ReconcilerDeps, { claim, directories }: Provision, signal: AbortSignal): Promise<void> {
  const { client, informers, events } = deps;
  const known = volumeNameFor(claim);
  if (known && informers.of(PersistentVolume).get({ name: known })) return;
  const node = claim.metadata.annotations?.[selectedNodeAnnotation];
  const storageClass = informers.of(StorageClass).get({ name: classOfClaim(claim) });
  // The scheduler has not chosen a node yet, or not again.
  if (node === undefined && storageClass?.volumeBindingMode === "WaitForFirstConsumer") return;
  const plan = planProvision(claim, {
    storageClass,
    node: node === undefined ? undefined : informers.of(Node).get({ name: node }),
    pathOf: directories.pathOf,
  });
  if ("refusal" in plan) {
    const message = `failed to provision volume with StorageClass "${classOfClaim(claim)}": ${plan.refusal}`;
    events.event(claim, "Warning", "ProvisioningFailed", message);
    return node === undefined ? undefined : await giveBack(deps, claim, signal);
  }
  const { name, volume } = plan;
  await directories.make(name);
  await client.create(PersistentVolume, volume, { signal }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  events.event(claim, "Normal", "ProvisioningSucceeded", `Successfully provisioned volume ${name}`);
}

/** The scheduler may choose another node; the pod waits no longer for this one. */
async function giveBack({ client }: ReconcilerDeps, claim: PersistentVolumeClaim, signal: AbortSignal): Promise<void> {
  const { [selectedNodeAnnotation]: _, ...annotations } = claim.metadata.annotations ?? {};
  const metadata = { ...claim.metadata, annotations };
  await client.update(PersistentVolumeClaim, { ...claim, metadata }, { signal }).catch(ignoreNotFound);
}

/** A directory has no size, so growing is only a matter of writing it down: first the volume, then the claim. */
const claimGrower =
  ({ serves, directories }: ProvisionerOptions) =>
  (deps: ReconcilerDeps): Reconciler<PersistentVolumeClaim> => ({
    name: "local-volume-grower",
    reconciles: PersistentVolumeClaim,
    concerns: isGrowing,

    async reconcile(claim, signal) {
      const { client, informers, events } = deps;
      const volume = informers.of(PersistentVolume).get({ name: claim.spec.volumeName ?? "" });
      const storage = claim.spec.resources.requests?.storage;
      if (!volume || !storage || volume.spec.claimRef?.uid !== claim.metadata.uid) return;
      if (!isOwnVolume(volume, directories.pathOf) || !isHere(deps, volume, serves)) return;
      if (volume.spec.capacity?.storage !== storage) {
        const spec = { ...volume.spec, capacity: { ...volume.spec.capacity, storage } };
        await client.update(PersistentVolume, { ...volume, spec }, { signal });
      }
      const status = { ...claim.status, capacity: { ...claim.status.capacity, storage } };
      await client.updateStatus(PersistentVolumeClaim, { ...claim, status }, { signal });
      events.event(claim, "Normal", "VolumeResizeSuccessful", "Resize volume succeeded");
    },
  });

const volumeRemover =
  ({ serves, directories }: ProvisionerOptions) =>
  (deps: ReconcilerDeps): Reconciler<PersistentVolume> => ({
    name: "local-volume-remover",
    reconciles: PersistentVolume,
    concerns: (volume) => isOwnVolume(volume, directories.pathOf) && isHere(deps, volume, serves),
    reconcile: (volume, signal) => remove(deps, { volume, directories }, signal),
  });

/** Whether the only node that reaches the volume is one of ours. */
function isHere({ informers }: ReconcilerDeps, { spec }: PersistentVolume, serves: (node: string) => boolean): boolean {
  const hostname = spec.nodeAffinity?.required?.nodeSelectorTerms?.[0]?.matchExpressions?.[0]?.values?.[0];
  if (hostname === undefined) return false;
  const isIt = ({ metadata }: Node): boolean => metadata.labels?.[hostnameLabel] === hostname;
  const nodes = informers.of(Node);
  const same = nodes.get({ name: hostname });
  // Usually the name of a node is also its host name.
  const node = same && isIt(same) ? same : nodes.list().find(isIt);
  return serves(node?.metadata.name ?? hostname);
}

interface Removal {
  readonly volume: PersistentVolume;
  readonly directories: VolumeDirectories;
}

async function remove(
  { client }: ReconcilerDeps,
  { volume, directories }: Removal,
  signal: AbortSignal,
): Promise<void> {
  const plan = planRemoval(volume);
  if (plan === "none") return;
  const { name, uid, deletionTimestamp } = volume.metadata;
  if (plan === "remove data") await directories.remove(name);
  if (!deletionTimestamp) {
    await client.delete(PersistentVolume, { name }, { preconditions: { uid }, signal }).catch(ignoreNotFound);
  }
  const current = await client.get(PersistentVolume, { name }, { signal }).catch(ignoreNotFound);
  if (current?.metadata.uid !== uid) return;
  const finalizers = current.metadata.finalizers?.filter((one) => one !== provisionerFinalizer) ?? [];
  const released = { ...current, metadata: { ...current.metadata, finalizers } };
  await client.update(PersistentVolume, released, { signal }).catch(ignoreNotFound);
}
