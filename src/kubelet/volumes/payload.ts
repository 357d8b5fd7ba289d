import type { ConfigMap } from "#api/core/config-map.ts";
import type { Secret } from "#api/core/secret.ts";
import type { DownwardAPIVolumeFile, KeyToPath, ProjectedVolumeSource, VolumeProjection } from "#api/core/volume.ts";
import { containerResource, podField } from "../pod-fields.ts";
import type { Payload, ProjectedFile } from "./atomic-writer.ts";
import { commonUser } from "./ownership.ts";
import type { VolumeContext } from "./plugin.ts";

/** What a volume should hold, from the objects that it shows. */

interface KeyedSource {
  readonly name?: string;
  readonly items?: readonly KeyToPath[];
  readonly optional?: boolean;
}

export async function configMapPayload(context: VolumeContext, source: KeyedSource, mode: number): Promise<Payload> {
  const name = source.name ?? "";
  const configMap = await context.sources.configMap(context.pod.metadata.namespace ?? "", name);
  if (!configMap && !source.optional) throw new Error(`configmap "${name}" not found`);
  const missing = (key: string) => `configmap references non-existent config key: ${key}`;
  return keyedPayload(source, { contents: configMap ? configMapContents(configMap) : new Map(), mode, missing });
}

export async function secretPayload(context: VolumeContext, source: KeyedSource, mode: number): Promise<Payload> {
  const name = source.name ?? "";
  const secret = await context.sources.secret(context.pod.metadata.namespace ?? "", name);
  if (!secret && !source.optional) throw new Error(`secret "${name}" not found`);
  const missing = (key: string) => `references non-existent secret key: ${key}`;
  return keyedPayload(source, { contents: secret ? secretContents(secret) : new Map(), mode, missing });
}

type Contents = ReadonlyMap<string, Uint8Array>;

const configMapContents = ({ data = {}, binaryData = {} }: ConfigMap): Contents =>
  new Map([
    ...Object.entries(data).map(([key, text]) => [key, Buffer.from(text)] as const),
    ...Object.entries(binaryData).map(([key, base64]) => [key, Buffer.from(base64, "base64")] as const),
  ]);
const secretContents = ({ data = {} }: Secret): Contents =>
  new Map(Object.entries(data).map(([key, base64]) => [key, Buffer.from(base64, "base64")] as const));

interface Keyed {
  readonly contents: Contents;
  readonly mode: number;
  readonly missing: (key: string) => string;
}

function keyedPayload({ items, optional }: KeyedSource, { contents, mode, missing }: Keyed): Payload {
  if (!items || items.length === 0) return new Map(Array.from(contents, ([key, content]) => [key, { content, mode }]));
  const files = new Map<string, ProjectedFile>();
  for (const item of items) {
    const content = contents.get(item.key);
    if (content) files.set(item.path, { content, mode: item.mode ?? mode });
    else if (!optional) throw new Error(missing(item.key));
  }
  return files;
}

export function downwardPayload(
  { pod, node }: VolumeContext,
  items: readonly DownwardAPIVolumeFile[],
  mode: number,
): Payload {
  const show = ({ fieldRef, resourceFieldRef }: DownwardAPIVolumeFile): string => {
    if (fieldRef) return podField(pod, fieldRef.fieldPath);
    if (resourceFieldRef) return containerResource({ pod, allocatable: node.allocatable }, resourceFieldRef);
    return "";
  };
  return new Map(items.map((item) => [item.path, { content: Buffer.from(show(item)), mode: item.mode ?? mode }]));
}

/** All parts together; of two with the same path, the later one counts. */
export async function projectedPayload(context: VolumeContext, source: ProjectedVolumeSource): Promise<Payload> {
  const parts = await Promise.allSettled(
    (source.sources ?? []).map((part) => partPayload(context, part, source.defaultMode)),
  );
  const faults = parts.flatMap((part) => (part.status === "rejected" ? [part.reason] : []));
  if (faults.length === 1) throw faults[0];
  if (faults.length > 1) {
    const texts = [
      ...new Set(faults.map((fault: unknown) => (fault instanceof Error ? fault.message : String(fault)))),
    ];
    throw new AggregateError(faults, texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`);
  }
  return new Map(parts.flatMap((part) => (part.status === "fulfilled" ? [...part.value] : [])));
}

async function partPayload(context: VolumeContext, part: VolumeProjection, mode: number): Promise<Payload> {
  const { sources, pod } = context;
  if (part.configMap) return await configMapPayload(context, part.configMap, mode);
  if (part.secret) return await secretPayload(context, part.secret, mode);
  if (part.downwardAPI) return downwardPayload(context, part.downwardAPI.items ?? [], mode);
  const own = credentialFile(context, mode);
  if (part.serviceAccountToken) {
    const token = await sources.serviceAccountToken(pod, part.serviceAccountToken);
    return new Map([[part.serviceAccountToken.path, own(token)]]);
  }
  if (part.clusterTrustBundle) {
    const { name, signerName, optional, path } = part.clusterTrustBundle;
    const bundle = await sources.trustBundle(part.clusterTrustBundle);
    if (bundle === undefined && !optional) throw new Error(`no trust bundle for ${name ?? signerName ?? ""}`);
    return new Map([[path, own(bundle ?? "")]]);
  }
  if (part.podCertificate) {
    const { credentialBundlePath, keyPath, certificateChainPath } = part.podCertificate;
    const { key, chain } = await sources.podCertificate(pod, part.podCertificate);
    const files = [
      [credentialBundlePath, key + chain] as const,
      [keyPath, key] as const,
      [certificateChainPath, chain] as const,
    ];
    return new Map(files.flatMap(([path, text]) => (path ? [[path, own(text)] as const] : [])));
  }
  return new Map();
}

/** A credential is for the pod's own user or group alone, where it has one; the group's right is given with the volume. */
function credentialFile({ pod }: VolumeContext, mode: number): (text: string) => ProjectedFile {
  const user = commonUser(pod);
  const isPrivate = user !== undefined || pod.spec.securityContext?.fsGroup !== undefined;
  return (text) => ({
    content: Buffer.from(text),
    mode: isPrivate ? 0o600 : mode,
    ...(user === undefined ? {} : { user }),
  });
}
