import { type HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { type Scale } from "#api/autoscaling/scale.ts";
import { scaleOf } from "#api/autoscaling/scale-of.ts";
import { type ApiObject, groupOf, type InputOf, type Resource } from "#api/resource.ts";
import { isConflict, notFound, statusErrorFrom } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { pathOf } from "#client/requests.ts";
import { type Informers } from "#runtime/informer.ts";
import { findKind } from "./find-kind.ts";

export interface TargetDeps {
  readonly client: Client;
  readonly informers: Informers;
  /** Every kind that is currently served. */
  kinds(): readonly Resource[];
}

export interface ScaleTarget {
  readonly resource: Resource;
  readonly scale: Scale;
}

/** The scale of what an autoscaler scales; throws in upstream's words. */
export async function readTarget(
  { client, informers, kinds }: TargetDeps,
  { metadata, spec }: HorizontalPodAutoscaler,
  signal: AbortSignal,
): Promise<ScaleTarget> {
  const { apiVersion = "", kind, name } = spec.scaleTargetRef;
  if (apiVersion.split("/").length > 2) throw new Error(`unexpected GroupVersion string: ${apiVersion}`);
  const resource = scalable(kinds(), groupOf(apiVersion), kind);
  const place = { resource, namespace: metadata.namespace, name };
  // Custom kinds come and go, so their informers do too.
  const isSeen = hasScale(resource) && !resource.isJsonOnly;
  return { resource, scale: await (isSeen ? seenScale(informers, place, signal) : readScale(client, place, signal)) };
}

/** There is no request for it: most targets do not change from one look to the next. */
async function seenScale(informers: Informers, { resource, ...ref }: Place, signal: AbortSignal): Promise<Scale> {
  const informer = informers.of(resource);
  await informer.synced(signal);
  const object = informer.get(ref);
  if (!object) throw notFound(resource, ref.name);
  return scaleOf(resource, object);
}

/** In a version that has a scale, if there is one. Without, the server says what is missing. */
function scalable(kinds: readonly Resource[], group: string, kind: string): Resource {
  const found = kinds.find((resource) => resource.kind === kind && resource.group === group && hasScale(resource));
  return found ?? findKind(kinds, group, kind);
}

const hasScale = ({ subresources }: Resource): boolean => subresources.some(({ scale }) => scale);

interface Place {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

async function readScale(client: Client, { resource, namespace, name }: Place, signal: AbortSignal): Promise<Scale> {
  const { status, body } = await client.raw("GET", pathOf(resource, { namespace, name }, "scale"), { signal });
  const answer = JSON.parse(Buffer.from(body).toString()) as Scale & { message?: string };
  if (status !== 200) throw statusErrorFrom({ code: status, ...answer });
  return answer;
}

/** As often as upstream's client retries a conflict. */
const attempts = 5;

/** Sets the number of replicas, also if somebody else changes the object meanwhile. */
export async function writeReplicas(
  { client }: TargetDeps,
  { resource, scale: known, replicas }: ScaleTarget & { readonly replicas: number },
  signal: AbortSignal,
): Promise<void> {
  let scale = known;
  for (let attempt = 1; ; attempt++) {
    try {
      const wanted = { ...scale, spec: { ...scale.spec, replicas } } as InputOf<ApiObject>;
      await client.update(resource, wanted, { subresource: "scale", signal });
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === attempts) throw error;
      const { namespace = "", name = "" } = scale.metadata;
      scale = await readScale(client, { resource, namespace, name }, signal).catch(() => scale);
    }
  }
}
