import { createHash } from "node:crypto";
import { type TarEntry, tar } from "#lib/fs/tar.ts";

/** How a container of the image starts, with the field names of the OCI image format. */
export interface ImageConfig {
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  readonly env?: readonly string[];
  readonly workingDir?: string;
  readonly user?: string;
  readonly exposedPorts?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly stopSignal?: string;
}
export interface ImageContents {
  /** The full name with its tag: `example.org/web:1`. */
  readonly name: string;
  /** Go's name of the architecture: `amd64`, `arm64`. */
  readonly architecture: string;
  readonly files: readonly TarEntry[];
  readonly config: ImageConfig;
}
export interface ImageArchive {
  readonly name: string;
  /** The digest of its config, which the runtime uses as the image's id. */
  readonly id: string;
  /** The digest of its manifest, which registries use. */
  readonly digest: string;
  /** The layer, the config and the manifest, by digest. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
  /** A tar in the OCI layout, which `ctr images import`, `docker load` and `skopeo` read. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Builds an image of one layer. The same contents always give the same bytes, and so the same id. */
export function buildImageArchive(image: ImageContents): ImageArchive {
  const layer = blob(tar(withParents(image.files)));
  const config = jsonBlob(renderConfig(image, layer.digest));
  const manifest = jsonBlob({
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: { mediaType: mediaTypes.config, digest: config.digest, size: config.bytes.length },
    layers: [{ mediaType: mediaTypes.layer, digest: layer.digest, size: layer.bytes.length }],
  });
  const index = {
    schemaVersion: 2,
    manifests: [
      {
        mediaType: mediaTypes.manifest,
        digest: manifest.digest,
        size: manifest.bytes.length,
        annotations: { "io.containerd.image.name": image.name, "org.opencontainers.image.ref.name": tagOf(image.name) },
        platform: { os: "linux", architecture: image.architecture },
      },
    ],
  };
  const bytes = tar([
    { path: "oci-layout", content: json({ imageLayoutVersion: "1.0.0" }) },
    { path: "index.json", content: json(index) },
    ...[layer, config, manifest].map(({ digest, bytes }) => ({
      path: `blobs/sha256/${digest.slice("sha256:".length)}`,
      content: bytes,
    })),
  ]);
  const blobs = new Map([layer, config, manifest].map(({ digest, bytes }) => [digest, bytes]));
  return { name: image.name, id: config.digest, digest: manifest.digest, blobs, bytes };
}

const mediaTypes = {
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
} as const;

function renderConfig({ architecture, config }: ImageContents, diffId: string): unknown {
  return {
    architecture,
    os: "linux",
    config: {
      Entrypoint: config.entrypoint,
      Cmd: config.cmd,
      Env: config.env ?? ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
      WorkingDir: config.workingDir,
      User: config.user,
      ExposedPorts: config.exposedPorts && Object.fromEntries(config.exposedPorts.map((port) => [port, {}])),
      Labels: config.labels,
      StopSignal: config.stopSignal,
    },
    rootfs: { type: "layers", diff_ids: [diffId] },
    history: [{ created_by: "orlop" }],
  };
}

/** Adds the parent directories of all files, each before its contents. */
function withParents(files: readonly TarEntry[]): TarEntry[] {
  const known = new Set(files.filter((file) => file.type === "directory").map((file) => file.path));
  const entries: TarEntry[] = [];
  for (const file of files) {
    const parts = file.path.split("/").slice(0, -1);
    for (const [depth] of parts.entries()) {
      const path = parts.slice(0, depth + 1).join("/");
      if (path === "" || known.has(path)) continue;
      known.add(path);
      entries.push({ path, type: "directory" });
    }
    entries.push(file);
  }
  return entries;
}

interface Blob {
  readonly digest: string;
  readonly bytes: Uint8Array;
}
const blob = (bytes: Uint8Array): Blob => ({
  digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
  bytes,
});
const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const jsonBlob = (value: unknown): Blob => blob(json(value));
const tagOf = (name: string): string => /:([^:/]+)$/.exec(name)?.[1] ?? "latest";
