import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import http2 from "node:http2";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { loadKubeconfig, resolveContext } from "#client/kubeconfig/kubeconfig.ts";

const root = path.resolve(import.meta.dirname, "../..");

/** A server in its own process, and how to reach it. */
export interface ServerProcess extends AsyncDisposable {
  readonly pid: number;
  readonly url: string;
  readonly tls: { readonly ca: string; readonly cert: string; readonly key: string };
  /** From the start of the process to the first `ok` of /readyz. */
  readonly readyMs: number;
}

/** Compiles all modules, as the installation does, so that no measured start has to. */
export async function fillCompileCache(): Promise<void> {
  const child = spawn(path.join(root, "orlop"), ["run", path.join(root, "src/bin/fill-cache.ts")], {
    stdio: "inherit",
  });
  await once(child, "exit");
}

/** Starts `./orlop server` as a user would. The launcher becomes the server, so its pid is the server's. */
export async function startServer(dataDir: string, flags: readonly string[] = []): Promise<ServerProcess> {
  const kubeconfig = path.join(dataDir, "kubeconfig");
  rmSync(kubeconfig, { force: true });
  const start = performance.now();
  const args = ["server", "--data-dir", dataDir, "--port", "0", ...flags];
  const child = spawn(path.join(root, "orlop"), args, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    await firstLine(child);
    const { config } = await resolveContext(await loadKubeconfig({ path: kubeconfig, env: {} }));
    const { ca = "", cert = "", key = "" } = config.tls ?? {};
    const tls = { ca, cert, key };
    await untilReady(config.server, tls);
    const readyMs = performance.now() - start;
    return { pid: child.pid ?? 0, url: config.server, tls, readyMs, [Symbol.asyncDispose]: () => stop(child) };
  } catch (error) {
    await stop(child);
    throw error;
  }
}

/** The server prints its address when it serves. */
async function firstLine(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit").then(([code]) => {
    throw new Error(`the server ended with ${code} before it was ready`);
  });
  await Promise.race([once(child.stdout ?? child, "data"), exited]);
  exited.catch(() => {});
}

async function untilReady(url: string, tls: ServerProcess["tls"]): Promise<void> {
  for (let attempt = 0; attempt < 2000; attempt++) {
    if (await isReady(url, tls)) return;
    await sleep(5);
  }
  throw new Error(`${url} did not become ready`);
}

async function isReady(url: string, tls: ServerProcess["tls"]): Promise<boolean> {
  const session = http2.connect(url, tls);
  try {
    const stream = session.request({ ":path": "/readyz" });
    const [headers] = (await once(stream, "response")) as [http2.IncomingHttpStatusHeader];
    return headers[":status"] === 200;
  } catch {
    return false;
  } finally {
    session.destroy();
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}
