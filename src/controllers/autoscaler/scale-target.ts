import { type HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { type Scale } from "#api/autoscaling/scale.ts";
import { type ApiObject, groupOf, type InputOf, type Resource } from "#api/resource.ts";
import { isConflict, statusErrorFrom } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { pathOf } from "#client/requests.ts";
import { findKind } from "./find-kind.ts";

export interface TargetDeps {
  readonly client: Client;
  /** Every kind that is currently served. */
  kinds(): readonly Resource[];
}

export interface ScaleTarget {
  readonly resource: Resource;
  readonly scale: Scale;
}

/** The scale of what an autoscaler scales; throws in upstream's words. */
export async function readTarget(
  { client, kinds }: TargetDeps,
  { metadata, spec }: HorizontalPodAutoscaler,
  signal: AbortSignal,
): Promise<ScaleTarget> {
  const { apiVersion = "", kind, name } = spec.scaleTargetRef;
  if (apiVersion.split("/").length > 2) throw new Error(`unexpected GroupVersion string: ${apiVersion}`);
  const resource = scalable(kinds(), groupOf(apiVersion), kind);
  return { resource, scale: await readScale(client, { resource, namespace: metadata.namespace, name }, signal) };
}

/** In a version that has a scale, if there is one. Without, the server says what is missing. */
function scalable(kinds: readonly Resource[], group: string, kind: string): Resource {
  const hasScale = ({ subresources }: Resource) => subresources.some(({ scale }) => scale);
  const found = kinds.find((resource) => resource.kind === kind && resource.group === group && hasScale(resource));
  return found ?? findKind(kinds, group, kind);
}

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
