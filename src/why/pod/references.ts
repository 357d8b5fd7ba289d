import { ConfigMap } from "#api/core/config-map.ts";
import { type Pod } from "#api/core/pod.ts";
import { Secret } from "#api/core/secret.ts";
import { isNotFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";

/** A ConfigMap or Secret that the pod requires, and the key if the pod names one. */
export interface Reference {
  readonly kind: "configmap" | "secret";
  readonly name: string;
  readonly key: string;
}

/** What the pod refers to and does not exist: `configmap "settings"`, `key password of secret "db"`. */
export async function missingReferences(client: Client, pod: Pod): Promise<string[]> {
  const { namespace } = pod.metadata;
  const found = new Map<string, ReadonlySet<string> | undefined>();
  const missing = new Set<string>();
  for (const { kind, name, key } of referencesOf(pod)) {
    const id = `${kind} ${name}`;
    if (!found.has(id)) found.set(id, await keysOf(client, kind, { namespace, name }));
    const keys = found.get(id);
    if (keys === undefined) missing.add(`${kind} "${name}"`);
    else if (key && !keys.has("*") && !keys.has(key)) missing.add(`key ${key} of ${kind} "${name}"`);
  }
  return [...missing];
}

/** Undefined if the object does not exist. `*` if the user may not read it, which proves nothing. */
async function keysOf(
  client: Client,
  kind: Reference["kind"],
  ref: { namespace: string; name: string },
): Promise<ReadonlySet<string> | undefined> {
  try {
    if (kind === "secret") return new Set(Object.keys((await client.get(Secret, ref)).data ?? {}));
    const { data = {}, binaryData = {} } = await client.get(ConfigMap, ref);
    return new Set([...Object.keys(data), ...Object.keys(binaryData)]);
  } catch (error) {
    return isNotFound(error) ? undefined : new Set(["*"]);
  }
}

export function* referencesOf({ spec }: Pod): Iterable<Reference> {
  for (const { configMap, secret, projected } of spec.volumes ?? []) {
    yield* required("configmap", configMap);
    yield* required("secret", secret && { ...secret, name: secret.secretName });
    for (const source of projected?.sources ?? []) {
      yield* required("configmap", source.configMap);
      yield* required("secret", source.secret);
    }
  }
  for (const { env = [], envFrom = [] } of [...(spec.initContainers ?? []), ...spec.containers]) {
    for (const { valueFrom } of env) {
      yield* required("configmap", valueFrom?.configMapKeyRef);
      yield* required("secret", valueFrom?.secretKeyRef);
    }
    for (const { configMapRef, secretRef } of envFrom) {
      yield* required("configmap", configMapRef);
      yield* required("secret", secretRef);
    }
  }
}

/** Anything that names a ConfigMap or a Secret, as a whole or by its keys. */
interface Source {
  readonly name?: string | undefined;
  readonly optional?: boolean | undefined;
  readonly key?: string;
  readonly items?: readonly { readonly key: string }[];
}

function* required(kind: Reference["kind"], source: Source | undefined): Iterable<Reference> {
  if (!source || source.optional) return;
  const { name = "", key = "", items = [] } = source;
  if (items.length === 0) yield { kind, name, key };
  for (const item of items) yield { kind, name, key: item.key };
}
