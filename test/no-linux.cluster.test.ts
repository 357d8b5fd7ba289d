import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { Connection } from "./support/connection.ts";
import { startServer } from "./support/server.ts";

const root = path.resolve(import.meta.dirname, "..");
const withoutLinux = ["--import", path.join(root, "test/support/no-linux.ts")];

/** What the guard says, so that the test shows that it works. */
const said = (output: string): readonly string[] => output.split("\n").filter((line) => line.startsWith("LINUX ONLY"));

function runScript(source: string): { readonly output: string; readonly status: number | null } {
  const args = [
    "--disable-warning=ExperimentalWarning",
    ...withoutLinux,
    "--input-type=module-typescript",
    "-e",
    source,
  ];
  const env = Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_/i.test(name));
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    cwd: root,
    env: Object.fromEntries(env),
    encoding: "utf8",
  });
  return { output: stdout + stderr, status };
}

test("the guard refuses what only Linux has", () => {
  const { output } = runScript(`
    import { readFileSync } from "node:fs";
    import { readFile } from "node:fs/promises";
    import { spawn } from "node:child_process";
    for (const attempt of [() => readFileSync("/proc/self/stat"), () => spawn("nft")]) {
      try { attempt(); } catch (error) { console.log(process.platform, error.code); }
    }
    await Promise.resolve().then(() => readFile("/sys/kernel")).catch(({ code }) => console.log(code));`);
  assert.equal(said(output).length, 3, output);
  assert.match(output, /darwin ENOENT/);
});

test("a cluster in a test needs nothing of Linux", () => {
  const { output, status } = runScript(`
    import { Deployment } from "#api/apps/deployment.ts";
    import { Pod } from "#api/core/pod.ts";
    import { startCluster } from "#testing/start-cluster.ts";
    await using cluster = await startCluster({ nodes: 2 });
    const labels = { app: "web" };
    const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } };
    const spec = { replicas: 2, selector: { matchLabels: labels }, template };
    await cluster.apply(Deployment, { metadata: { namespace: "default", name: "web" }, spec });
    await cluster.settle();
    const { url } = await cluster.listen();
    const pods = await cluster.list(Pod);
    console.log(new URL(url).protocol, pods.map(({ status }) => status.phase).join(" "));`);
  assert.equal(status, 0, output);
  assert.match(output, /https: Running Running/);
  assert.deepEqual(said(output), []);
});

test("a server with simulated nodes needs nothing of Linux", async () => {
  await using server = await startServer({ args: ["--nodes", "2"], nodeArgs: withoutLinux });
  await using connection = new Connection(server);
  const labels = { app: "web" };
  const pod = { metadata: { name: "web", labels }, spec: { containers: [{ name: "web", image: "web:1" }] } };

  await untilStatus(connection, "/api/v1/namespaces/default/serviceaccounts/default", () => true);
  await connection.sure("POST", "/api/v1/namespaces/default/pods", JSON.stringify(pod));
  await untilStatus(connection, "/api/v1/namespaces/default/pods/web", (body) => /"phase":"Running"/.test(body));
  await connection.sure("GET", "/api/v1/namespaces/default/pods/web/log");
  await connection.sure("GET", "/metrics");
  await connection.sure("GET", "/api/v1/nodes/node-1/proxy/stats/summary");

  assert.deepEqual(await server.end("SIGTERM"), { code: 0, signal: null });
  assert.deepEqual(said(server.log()), []);
});

async function untilStatus(connection: Connection, target: string, isDone: (body: string) => boolean): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const { status, body } = await connection.sure("GET", target);
    if (status === 200 && isDone(body)) return;
    assert(Date.now() < deadline, `${target}: ${status} ${body}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
