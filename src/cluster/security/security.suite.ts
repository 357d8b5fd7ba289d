import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ClientConfig } from "#client/client-config.ts";
import { httpClient } from "#client/transport/http.ts";
import { systemClock } from "#lib/async/clock.ts";
import { systemRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { startControlPlane } from "../control-plane.ts";
import { type SecurityOptions } from "./options.ts";

export const admin = { name: "admin", groups: ["system:masters"] };

/** A directory for files of a test. */
export async function makeFiles() {
  const dir = await mkdtemp(join(tmpdir(), "orlop-security-"));
  return {
    dir,
    async write(name: string, content: unknown): Promise<string> {
      const path = join(dir, name);
      await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
      return path;
    },
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true }),
  };
}

/** A control plane at a real socket, and clients for it. */
export async function startPlane(security: SecurityOptions, dir: string) {
  const base = { clock: systemClock, log: silentLog, random: systemRandom };
  const listen = { store: "memory", host: "127.0.0.1", port: 0 } as const;
  const plane = await startControlPlane({ ...base, ...listen, dataDir: join(dir, "data"), security });
  const clients: AsyncDisposable[] = [];
  const clientWith = (part: Partial<ClientConfig> & { readonly cert?: string; readonly key?: string } = {}) => {
    const { cert, key, ...rest } = part;
    const ca = plane.certificates.pki.authority.certificate;
    const tls = { ca, ...(cert && key ? { cert, key } : {}) };
    const client = httpClient({ server: plane.url, tls, ...rest }, { clock: systemClock, log: silentLog });
    clients.push(client);
    return client;
  };
  return {
    plane,
    admin: plane.clientFor(admin),
    clientWith,
    withToken: (token: string) => clientWith({ auth: { token } }),
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client[Symbol.asyncDispose]();
      await plane[Symbol.asyncDispose]();
    },
  };
}

/** A webhook that answers each review with the status that the function returns, and the kubeconfig for it. */
export async function startWebhook(statusOf: (review: { spec: Record<string, unknown> }) => object) {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      const review = JSON.parse(body) as { spec: Record<string, unknown> };
      response.end(JSON.stringify({ ...review, status: statusOf(review) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    kubeconfig: {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "a", cluster: { server: `http://127.0.0.1:${port}/` } }],
      contexts: [{ name: "a", context: { cluster: "a", user: "" } }],
      "current-context": "a",
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
