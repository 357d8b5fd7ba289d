import http from "node:http";
import type { AddressInfo } from "node:net";

/** The parts of an image that a registry serves; `buildImageArchive` makes them. */
export interface RegistryImage {
  readonly name: string;
  readonly digest: string;
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}
export interface Registry extends AsyncDisposable {
  /** `127.0.0.1:34567`, the first part of its images' names. */
  readonly host: string;
  /** The requested paths. */
  readonly requests: readonly string[];
  /** Serves the image as `<host>/<repository>:<tag>`. */
  add(repository: string, tag: string, image: RegistryImage): void;
}

/** A registry for tests. It serves the images that were added, over plain HTTP, with a password if one is given. */
export async function startRegistry(login?: { username: string; password: string }): Promise<Registry> {
  const images = new Map<string, RegistryImage>();
  const requests: string[] = [];
  const server = http.createServer((request, response) => {
    requests.push(request.url ?? "");
    if (login && request.headers.authorization !== basic(login)) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="test"' }).end();
      return;
    }
    const found = find(images, request.url ?? "");
    if (!found) return void response.writeHead(404).end();
    const { bytes, digest, isManifest } = found;
    const type = isManifest ? "application/vnd.oci.image.manifest.v1+json" : "application/octet-stream";
    response.writeHead(200, {
      "content-type": type,
      "content-length": bytes.length,
      "docker-content-digest": digest,
    });
    response.end(request.method === "HEAD" ? undefined : bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    add: (repository, tag, image) => void images.set(`${repository}:${tag}`, image),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const basic = ({ username, password }: { username: string; password: string }): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;

function find(images: ReadonlyMap<string, RegistryImage>, url: string) {
  if (url === "/v2/") return { bytes: Buffer.from("{}"), digest: "", isManifest: false };
  const [, repository, kind, reference = ""] = /^\/v2\/(.+)\/(manifests|blobs)\/([^?]+)/.exec(url) ?? [];
  for (const [name, image] of images) {
    if (!name.startsWith(`${repository}:`)) continue;
    const digest = name === `${repository}:${reference}` ? image.digest : reference;
    const bytes = image.blobs.get(digest);
    if (bytes) return { bytes, digest, isManifest: kind === "manifests" };
  }
  return undefined;
}
