import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { type Volume } from "#api/core/volume/volume.ts";
import { isControlledBy, ownerRefTo } from "#api/meta/owner.ts";
import { type InputOf } from "#api/resource.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { isNamespaceEnding } from "../shared/namespace-ending.ts";

/** Creates the claims of pods whose volumes live as long as they do. The garbage collector deletes them with the pod. */
export function ephemeralVolumeController({ client, informers, events }: ReconcilerDeps): Reconciler<Pod> {
  const claims = informers.of(PersistentVolumeClaim);
  return {
    name: "ephemeral-volume",
    reconciles: Pod,
    owns: [PersistentVolumeClaim],
    concerns: (pod) => pod.spec.volumes?.some(({ ephemeral }) => ephemeral) === true && !isOver(pod),

    async reconcile(pod, signal) {
      // The end of a claim also wakes a pod that is over: it must not get another one.
      if (isOver(pod)) return;
      const { namespace } = pod.metadata;
      for (const volume of pod.spec.volumes ?? []) {
        const claim = claimFor(pod, volume);
        if (!claim) continue;
        const { name } = claim.metadata;
        const known = claims.get({ namespace, name });
        if (known && isControlledBy(known, pod)) continue;
        try {
          if (known) throw new Error(notOwned(pod, name));
          await client.create(PersistentVolumeClaim, claim, { signal }).catch((error: unknown) => {
            throw new Error(`create PVC ${name}: ${messageOf(error)}`, { cause: error });
          });
        } catch (error) {
          if (error instanceof Error && isNamespaceEnding(error.cause)) return;
          events.event(pod, "Warning", "FailedBinding", `ephemeral volume ${volume.name}: ${messageOf(error)}`);
          throw error;
        }
      }
    },
  };
}

const isOver = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined || isFinished(pod);

type NewClaim = InputOf<PersistentVolumeClaim> & { readonly metadata: { readonly name: string } };

/** The claim of an ephemeral volume. Its name is that of the pod and the volume. */
export function claimFor(pod: Pod, { name: volume, ephemeral }: Volume): NewClaim | undefined {
  const template = ephemeral?.volumeClaimTemplate;
  if (!template) return undefined;
  const { annotations, labels } = template.metadata;
  const { name, namespace } = pod.metadata;
  const metadata = {
    name: `${name}-${volume}`,
    namespace,
    ownerReferences: [ownerRefTo(Pod, pod)],
    ...(annotations ? { annotations } : {}),
    ...(labels ? { labels } : {}),
  };
  return { metadata, spec: template.spec };
}

function notOwned({ metadata: { namespace, name } }: Pod, claim: string): string {
  return `PVC ${namespace}/${claim} was not created for pod ${namespace}/${name} (pod is not owner)`;
}
