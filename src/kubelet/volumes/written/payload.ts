import type { ConfigMap } from "#api/core/config-map.ts";
import type { Secret } from "#api/core/secret.ts";
import type {
  DownwardAPIVolumeFile,
  KeyToPath,
  ProjectedVolumeSource,
  VolumeProjection,
} from "#api/core/volume/volume.ts";
import { containerResource, podField } from "#kubelet/config/pod-fields.ts";
import { fewAtATime } from "#lib/async/tasks.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { commonUser } from "../ownership.ts";
import type { VolumeContext } from "../plugin.ts";
import type { FileContent, Payload, ProjectedFile } from "./atomic-writer.ts";
import type { WriteMeter } from "./write-budget.ts";

/** Computes the content of a volume from the objects that it shows. */

interface KeyedSource {
  readonly name?: string;
  readonly items?: readonly KeyToPath[];
  readonly optional?: boolean;
}

/** How files are written, and how large they may be. */
export interface FileOptions {
  readonly mode: number;
  readonly meter: WriteMeter;
}

export async function configMapPayload(
  context: VolumeContext,
  source: KeyedSource,
  options: FileOptions,
): Promise<Payload> {
  const name = source.name ?? "";
  const configMap = await context.sources.configMap(context.pod.metadata.namespace, name);
  if (!configMap && !source.optional) throw new Error(`configmap "${name}" not found`);
  const missing = (key: string) => `configmap references non-existent config key: ${key}`;
  const contents = configMap ? configMapContents(configMap) : new Map<string, FileContent>();
  return keyedPayload(source, { contents, missing, ...options });
}

export async function secretPayload(
  context: VolumeContext,
  source: KeyedSource,
  options: FileOptions,
): Promise<Payload> {
  const name = source.name ?? "";
  const secret = await context.sources.secret(context.pod.metadata.namespace, name);
  if (!secret && !source.optional) throw new Error(`secret "${name}" not found`);
  const missing = (key: string) => `references non-existent secret key: ${key}`;
  const contents = secret ? secretContents(secret) : new Map<string, FileContent>();
  return keyedPayload(source, { contents, missing, ...options });
}

type Contents = ReadonlyMap<string, FileContent>;

const encoded = (data: Readonly<Record<string, string>>, encoding: FileContent["encoding"]) =>
  Object.entries(data).map(([key, text]) => [key, { text, encoding }] as const);
const configMapContents = ({ data = {}, binaryData = {} }: ConfigMap): Contents =>
  new Map([...encoded(data, "utf8"), ...encoded(binaryData, "base64")]);
const secretContents = ({ data = {} }: Secret): Contents => new Map(encoded(data, "base64"));

interface Keyed extends FileOptions {
  readonly contents: Contents;
  readonly missing: (key: string) => string;
}

function keyedPayload({ items, optional }: KeyedSource, { contents, mode, missing, meter }: Keyed): Payload {
  const counted = (content: FileContent): FileContent => {
    meter(Buffer.byteLength(content.text, content.encoding));
    return content;
  };
  if (!items || items.length === 0) {
    return new Map(Array.from(contents, ([key, content]) => [key, { content: counted(content), mode }]));
  }
  const files = new Map<string, ProjectedFile>();
  for (const item of items) {
    const content = contents.get(item.key);
    if (content) files.set(item.path, { content: counted(content), mode: item.mode ?? mode });
    else if (!optional) throw new Error(missing(item.key));
  }
  return files;
}

export function downwardPayload(
  { pod, node }: VolumeContext,
  items: readonly DownwardAPIVolumeFile[],
  { mode, meter }: FileOptions,
): Payload {
  const show = ({ fieldRef, resourceFieldRef }: DownwardAPIVolumeFile): string => {
    if (fieldRef) return podField(pod, fieldRef.fieldPath);
    if (resourceFieldRef) return containerResource({ pod, allocatable: node.allocatable }, resourceFieldRef);
    return "";
  };
  return new Map(
    items.map((item) => {
      const text = show(item);
      meter(Buffer.byteLength(text));
      return [item.path, { content: { text, encoding: "utf8" }, mode: item.mode ?? mode }];
    }),
  );
}

/** All sources together; of two files with the same path, the later one wins. */
export async function projectedPayload(
  context: VolumeContext,
  { sources = [], defaultMode: mode }: ProjectedVolumeSource,
  meter: WriteMeter,
): Promise<Payload> {
  const faults: unknown[] = [];
  const parts = await fewAtATime(sources, async (part) => {
    if (faults.length >= maxFaults) return noFiles;
    return await partPayload(context, part, { mode, meter }).catch((error: unknown) => {
      faults.push(error);
      return noFiles;
    });
  });
  if (faults.length === 1) throw faults[0];
  if (faults.length > 1) {
    const texts = [...new Set(faults.map(messageOf))];
    throw new AggregateError(faults, texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`);
  }
  return new Map(parts.flatMap((files) => [...files]));
}

const noFiles: Payload = new Map();
/** After this many faults, nothing more is gathered. */
const maxFaults = 10;

async function partPayload(context: VolumeContext, part: VolumeProjection, options: FileOptions): Promise<Payload> {
  const { sources, pod } = context;
  if (part.configMap) return await configMapPayload(context, part.configMap, options);
  if (part.secret) return await secretPayload(context, part.secret, options);
  if (part.downwardAPI) return downwardPayload(context, part.downwardAPI.items ?? [], options);
  const own = credentialFile(context, options);
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

/** Only the pod's own user or group can read a credential, if it has one. The group's access is set with the volume. */
function credentialFile({ pod }: VolumeContext, { mode, meter }: FileOptions): (text: string) => ProjectedFile {
  const user = commonUser(pod);
  const isPrivate = user !== undefined || pod.spec.securityContext?.fsGroup !== undefined;
  return (text) => {
    meter(Buffer.byteLength(text));
    return {
      content: { text, encoding: "utf8" },
      mode: isPrivate ? 0o600 : mode,
      ...(user === undefined ? {} : { user }),
    };
  };
}
