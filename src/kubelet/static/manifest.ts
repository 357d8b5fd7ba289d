import { createHash } from "node:crypto";
import { apiReferenceOf } from "#api/core/pod/pod-references.ts";
import { Pod } from "#api/core/pod.ts";
import { createFaults } from "#api/rules.ts";
import { configSourceAnnotation } from "#api/well-known.ts";
import { parseYaml } from "#lib/yaml/yaml.ts";
import { decode } from "#schema/json/decode.ts";

export interface ManifestPlace {
  readonly file: string;
  readonly nodeName: string;
  /** When the file was read. */
  readonly seen: string;
}

export const staticAnnotations = {
  hash: "kubernetes.io/config.hash",
  source: configSourceAnnotation,
  seen: "kubernetes.io/config.seen",
} as const;

/** The pod that a file declares, adapted to this node. Its UID is a hash of the content. Throws if the file is invalid. */
export async function readManifest(text: string, place: ManifestPlace): Promise<Pod> {
  const { value } = await parseYaml(text);
  const { kind, apiVersion }: { kind?: unknown; apiVersion?: unknown } = value ?? {};
  if (kind !== "Pod" || apiVersion !== "v1") throw new Error(`not a v1 Pod, but ${apiVersion} ${kind}`);
  const { value: declared } = decode(Pod.schema, value, { defaults: true });
  if (!declared.metadata?.name) throw new Error("invalid pod: name is needed for the pod");
  const pod = asOwn(declared, place);
  Pod.prepareForCreate?.(pod);
  const faults = createFaults(Pod, pod);
  if (faults.length > 0) {
    throw new Error(`invalid pod: [${faults.map(({ path, message }) => `${path}: ${message}`).join(", ")}]`);
  }
  const reference = apiReferenceOf(pod);
  if (reference) throw new Error(`static pods may not reference ${reference}`);
  return pod;
}

function asOwn(declared: Pod, { file, nodeName, seen }: ManifestPlace): Pod {
  const { metadata, spec } = declared;
  const content = JSON.stringify([declared, nodeName, file]);
  const uid = metadata.uid || createHash("sha256").update(content).digest("hex").slice(0, 32);
  const own = { [staticAnnotations.hash]: uid, [staticAnnotations.source]: "file", [staticAnnotations.seen]: seen };
  return {
    ...declared,
    metadata: {
      ...metadata,
      uid,
      name: `${metadata.name}-${nodeName.toLowerCase()}`,
      namespace: metadata.namespace || "default",
      annotations: { ...metadata.annotations, ...own },
      creationTimestamp: seen,
    },
    spec: {
      ...spec,
      nodeName,
      // Problems of the node must not evict it.
      tolerations: [...(spec.tolerations ?? []), { operator: "Exists", effect: "NoExecute" }],
    },
  };
}
