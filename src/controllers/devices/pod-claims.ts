import { isActive } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { podClaimAnnotation, ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceClaimTemplate } from "#api/devices/resource-claim-template.ts";
import { isControlledBy, ownerRefTo } from "#api/meta/owner.ts";
import { type InputOf } from "#api/resource.ts";
import { notFound } from "#api/status.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Informers } from "#runtime/informer.ts";
import { type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { isNamespaceEnding } from "../shared/namespace-ending.ts";

/** Creates the claims of pods from templates, and reserves claims for pods that got their node without the scheduler. */
export function podClaimsController(deps: ReconcilerDeps): Reconciler<Pod> {
  const { client, informers, events } = deps;
  const pods = informers.of(Pod);
  const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }) => `${namespace}/${name}`;
  return {
    name: "resourceclaim-pods",
    reconciles: Pod,
    owns: [ResourceClaim],
    watches: [
      watch(ResourceClaimTemplate, ({ object }) =>
        pods.by("resourceClaimTemplate", keyOf(object.metadata)).map(({ metadata }) => metadata),
      ),
      watch(ResourceClaim, ({ object }) =>
        pods.by("resourceClaim", keyOf(object.metadata)).map(({ metadata }) => metadata),
      ),
    ],
    concerns: needsClaims,

    async reconcile(pod, signal) {
      // The end of a claim also wakes a pod that is done: it must not get another one.
      if (!needsClaims(pod)) return;
      const names = new Map<string, string>();
      for (const entry of pod.spec.resourceClaims ?? []) {
        const claim = await claimFor(deps, pod, entry, signal).catch((error: unknown) => {
          if (isNamespaceEnding(causeOf(error))) return undefined;
          const message = `PodResourceClaim ${entry.name}: ${messageOf(error)}`;
          events.event(pod, "Warning", "FailedResourceClaimCreation", message);
          throw error;
        });
        if (claim) names.set(entry.name, claim.metadata.name);
      }
      const missing = planStatuses(pod, names);
      if (missing.length > 0) {
        const body = { metadata: { uid: pod.metadata.uid }, status: { resourceClaimStatuses: missing } };
        await client.patch(Pod, pod, { type: "strategic", body }, { subresource: "status", signal });
      }
      if (pod.spec.nodeName) await reserveAll(deps, pod, signal);
    },
  };
}

const needsClaims = (pod: Pod): boolean => (pod.spec.resourceClaims?.length ?? 0) > 0 && isActive(pod);

const causeOf = (error: unknown): unknown => (error instanceof Error ? error.cause : undefined);

type Entry = NonNullable<Pod["spec"]["resourceClaims"]>[number];

/** The claim that was created for an entry of the pod, now or earlier; undefined if the entry names one. */
async function claimFor(
  { client, informers }: ReconcilerDeps,
  pod: Pod,
  entry: Entry,
  signal: AbortSignal,
): Promise<ResourceClaim | undefined> {
  const { namespace } = pod.metadata;
  const name = entry.resourceClaimTemplateName;
  if (name === undefined) return undefined;
  const known = findClaim(informers, pod, entry.name);
  if (known) return known;
  const template = informers.of(ResourceClaimTemplate).get({ namespace, name });
  if (!template) {
    const missing = notFound(ResourceClaimTemplate, name);
    throw new Error(`resource claim template ${JSON.stringify(name)}: ${missing.message}`, { cause: missing });
  }
  return await client
    .create(ResourceClaim, planNewClaim(pod, entry.name, template), { signal })
    .catch((error: unknown) => {
      throw new Error(`create ResourceClaim : ${messageOf(error)}`, { cause: error });
    });
}

function findClaim(informers: Informers, pod: Pod, entry: string): ResourceClaim | undefined {
  const claims = informers.of(ResourceClaim);
  const status = pod.status.resourceClaimStatuses?.find(({ name }) => name === entry);
  const name = status?.resourceClaimName;
  const noted = name === undefined ? undefined : claims.get({ namespace: pod.metadata.namespace, name });
  if (noted && isControlledBy(noted, pod)) return noted;
  // Claims of other namespaces can name any uid.
  return claims
    .by("controller", pod.metadata.uid)
    .filter(({ metadata }) => metadata.namespace === pod.metadata.namespace)
    .find(({ metadata }) => metadata.annotations?.[podClaimAnnotation] === entry);
}

/** Room for a hyphen and five random characters in a name of 63. */
const maxBaseLength = 57;

export function planNewClaim(pod: Pod, entry: string, template: ResourceClaimTemplate): InputOf<ResourceClaim> {
  const { namespace, name } = pod.metadata;
  const { labels, annotations } = template.spec.metadata ?? {};
  const { blockOwnerDeletion: _, ...owner } = ownerRefTo(Pod, pod);
  const whole = `${name}-${entry}-`;
  const part = (text: string): string => text.slice(0, Math.floor((text.length * maxBaseLength) / whole.length));
  const metadata = {
    generateName: whole.length > maxBaseLength ? `${part(name)}-${part(entry)}` : whole,
    namespace,
    ownerReferences: [owner],
    annotations: { ...annotations, [podClaimAnnotation]: entry },
    ...(labels ? { labels } : {}),
  };
  return { metadata, spec: template.spec.spec } as InputOf<ResourceClaim>;
}

/** The claims that the pod's status does not name yet. */
export function planStatuses(pod: Pod, claims: ReadonlyMap<string, string>) {
  const known = new Map(pod.status.resourceClaimStatuses?.map((one) => [one.name, one.resourceClaimName]));
  return Array.from(claims, ([name, resourceClaimName]) => ({ name, resourceClaimName }))
    .filter((one) => known.get(one.name) !== one.resourceClaimName)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A pod with a node that the scheduler did not choose may still use claims that have their devices. */
async function reserveAll({ client, informers }: ReconcilerDeps, pod: Pod, signal: AbortSignal): Promise<void> {
  const { namespace, name, uid } = pod.metadata;
  const statuses = new Map(pod.status.resourceClaimStatuses?.map((one) => [one.name, one.resourceClaimName]));
  for (const entry of pod.spec.resourceClaims ?? []) {
    const claimName = entry.resourceClaimName ?? statuses.get(entry.name);
    const claim = claimName === undefined ? undefined : informers.of(ResourceClaim).get({ namespace, name: claimName });
    if (!claim?.status.allocation || (entry.resourceClaimName === undefined && !isControlledBy(claim, pod))) continue;
    const { reservedFor = [] } = claim.status;
    if (reservedFor.some((consumer) => consumer.uid === uid)) continue;
    const status = { ...claim.status, reservedFor: [...reservedFor, { resource: "pods", name, uid }] };
    await client.updateStatus(ResourceClaim, { ...claim, status }, { signal });
  }
}
