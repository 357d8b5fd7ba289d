import {
  betaProvisionerAnnotation,
  claimKeyOf,
  isMeantFor,
  provisionerAnnotation,
} from "#api/core/persistent-volume/binding.ts";
import { classOfClaim, classOfVolume, findVolume } from "#api/core/persistent-volume/match-volume.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { newestDefault } from "#api/newest-default.ts";
import { isDefaultClass, StorageClass } from "#api/storage/storage-class.ts";
import { type Change, type Informers } from "#runtime/informer.ts";
import { type Reconciler, type ReconcilerDeps, type Wake, watch } from "#runtime/reconciler.ts";
import { bind, unboundStatus, withAnnotations, writeStatus } from "./bind.ts";
import { type ClaimFacts, planClaim } from "./plan-claim.ts";

/** Binds claims to volumes that exist, and asks provisioners for those that do not. */
export function claimBinder(deps: ReconcilerDeps): Reconciler<PersistentVolumeClaim> {
  const facts = claimFacts(deps.informers);
  const claims = deps.informers.of(PersistentVolumeClaim);
  const waiting = (className: string): Wake[] => claims.by("unbound", className).map(({ metadata }) => metadata);
  return {
    name: "persistentvolume-binder-claims",
    reconciles: PersistentVolumeClaim,
    watches: [
      watch(PersistentVolume, (change) => [
        ...claimsNaming(change, deps.informers),
        ...(isNewlyFree(change) ? waiting(classOfVolume(change.object)) : []),
      ]),
      watch(StorageClass, ({ type, object }) =>
        type === "delete" ? [] : [...waiting(object.metadata.name), ...(isDefaultClass(object) ? waiting("") : [])],
      ),
    ],
    reconcile: (claim, signal) => reconcile(deps, { claim, facts }, signal),
  };
}

/** The claim that the volume names, and those that name the volume. */
function claimsNaming({ object }: Change<PersistentVolume>, informers: Informers): Wake[] {
  const { namespace, name } = object.spec.claimRef ?? {};
  const naming = informers.of(PersistentVolumeClaim).by("volume", object.metadata.name);
  return [...(name ? [{ namespace, name }] : []), ...naming.map(({ metadata }) => metadata)];
}

function isNewlyFree(change: Change<PersistentVolume>): boolean {
  const isFree = ({ spec, status }: PersistentVolume): boolean => !spec.claimRef && status.phase === "Available";
  return change.type === "put" && isFree(change.object) && !(change.previous && isFree(change.previous));
}

interface Turn {
  readonly claim: PersistentVolumeClaim;
  readonly facts: ClaimFacts;
}

async function reconcile(deps: ReconcilerDeps, { claim, facts }: Turn, signal: AbortSignal): Promise<void> {
  const plan = planClaim(claim, facts);
  switch (plan.step) {
    case "bind":
      return await bind(deps, { volume: plan.volume, claim }, signal);
    case "classify": {
      const spec = { ...claim.spec, storageClassName: plan.className };
      await deps.client.update(PersistentVolumeClaim, { ...claim, spec }, { signal });
      return;
    }
    case "provision":
      return await askProvisioner(deps, { claim, provisioner: plan.provisioner }, signal);
    case "wait": {
      const { phase, event } = plan;
      const isNews = await writeStatus(deps, claim, unboundStatus(claim, phase), signal);
      // A lost claim is reported once; a pending one says each time what it waits for.
      if (event && (isNews || phase === "Pending")) deps.events.event(claim, event.type, event.reason, event.message);
    }
  }
}

interface Asking {
  readonly claim: PersistentVolumeClaim;
  readonly provisioner: string;
}

async function askProvisioner(
  deps: ReconcilerDeps,
  { claim, provisioner }: Asking,
  signal: AbortSignal,
): Promise<void> {
  const annotations = { [provisionerAnnotation]: provisioner, [betaProvisionerAnnotation]: provisioner };
  const isAsked = claim.metadata.annotations?.[provisionerAnnotation] === provisioner;
  if (!isAsked) {
    const metadata = withAnnotations(claim.metadata, annotations);
    await deps.client.update(PersistentVolumeClaim, { ...claim, metadata }, { signal });
  }
  deps.events.event(
    claim,
    "Normal",
    "ExternalProvisioning",
    `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`,
  );
}

function claimFacts(informers: Informers): ClaimFacts {
  const volumes = informers.of(PersistentVolume);
  const classes = informers.of(StorageClass);
  const pods = informers.of(Pod);
  return {
    volume: (name) => volumes.get({ name }),
    match(claim, which) {
      const prebound = volumes.by("claim", claimKeyOf(claim.metadata));
      const available = which === "any" ? volumes.by("available", classOfClaim(claim)) : [];
      return findVolume(claim, { prebound: prebound.filter((volume) => isMeantFor(volume, claim)), available });
    },
    storageClass: (name) => classes.get({ name }),
    defaultClass: () => newestDefault(classes.list(), isDefaultClass)?.metadata.name,
    waitingPods: ({ metadata }) =>
      pods.by("claim", claimKeyOf(metadata)).flatMap(({ metadata: { name }, spec }) => (spec.nodeName ? [] : name)),
  };
}
