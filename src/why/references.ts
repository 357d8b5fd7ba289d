import { ConfigMap } from "#api/core/config-map.ts";
import { type Pod } from "#api/core/pod.ts";
import { Secret } from "#api/core/secret.ts";
import { isNotFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";

/** A configMap or secret that a pod cannot do without, and a key of it if one is named. */
export interface Reference {
  readonly kind: "configmap" | "secret";
  readonly name: string;
  readonly key: string;
}

/** What the pod refers to and is not there: `configmap "settings"`, `key password of secret "db"`. */
export async function missingReferences(client: Client, pod: Pod): Promise<string[]> {
  const { namespace = "" } = pod.metadata;
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

/** undefined: not there. `*`: it may not be looked at, which is no evidence of anything. */
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
  yield* fromVolumes(spec);
  for (const { env = [], envFrom = [] } of [...(spec.initContainers ?? []), ...spec.containers]) {
    for (const { valueFrom } of env) {
      const { configMapKeyRef: map, secretKeyRef: secret } = valueFrom ?? {};
      if (map && !map.optional) yield { kind: "configmap", name: map.name ?? "", key: map.key };
      if (secret && !secret.optional) yield { kind: "secret", name: secret.name ?? "", key: secret.key };
    }
    for (const { configMapRef: map, secretRef: secret } of envFrom) {
      if (map && !map.optional) yield { kind: "configmap", name: map.name ?? "", key: "" };
      if (secret && !secret.optional) yield { kind: "secret", name: secret.name ?? "", key: "" };
    }
  }
}

function* fromVolumes({ volumes = [] }: Pod["spec"]): Iterable<Reference> {
  for (const { configMap, secret, projected } of volumes) {
    if (configMap && !configMap.optional) yield* withItems("configmap", configMap.name ?? "", configMap.items);
    if (secret && !secret.optional) yield* withItems("secret", secret.secretName ?? "", secret.items);
    for (const source of projected?.sources ?? []) {
      if (source.configMap && !source.configMap.optional)
        yield* withItems("configmap", source.configMap.name ?? "", source.configMap.items);
      if (source.secret && !source.secret.optional)
        yield* withItems("secret", source.secret.name ?? "", source.secret.items);
    }
  }
}

function* withItems(
  kind: Reference["kind"],
  name: string,
  items: readonly { key: string }[] = [],
): Iterable<Reference> {
  if (items.length === 0) yield { kind, name, key: "" };
  for (const { key } of items) yield { kind, name, key };
}
