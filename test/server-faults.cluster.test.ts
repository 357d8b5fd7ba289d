import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import https from "node:https";
import path from "node:path";
import { test } from "node:test";
import { Connection, type Reply } from "./support/connection.ts";
import { credentialsOf, deadline, makeTempDir, type RunningServer, startServer } from "./support/server.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const bodyOf = (name: string, text: string): string =>
  JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { text } });

test("with a full disk, writes are refused and reads answered, and the server recovers when there is space", async (t) => {
  const dataDir = makeTempDir();
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=16m", "tmpfs", dataDir], { stdio: "ignore" });
  } catch {
    return t.skip("needs root to mount a small disk");
  }
  try {
    await using server = await startServer({ dataDir });
    await using connection = new Connection(server);
    const filler = path.join(dataDir, "filler");
    const fill = (): void => {
      for (let size = 8 << 20; size >= 1024; ) {
        try {
          writeFileSync(filler, Buffer.alloc(size), { flag: "a" });
        } catch {
          size >>= 1;
        }
      }
    };
    assert.equal((await connection.sure("POST", configMaps, bodyOf("first", "kept"))).status, 201);

    fill();
    const refused = await deadline("a write to be refused", async () => {
      const reply = await connection.sure(
        "PUT",
        `${configMaps}/first`,
        bodyOf("first", `${"x".repeat(400_000)}${Math.random()}`),
      );
      return reply.status === 200 ? undefined : reply;
    });
    const read = await connection.sure("GET", `${configMaps}/first`);
    const ready = await connection.sure("GET", "/livez");
    rmSync(filler);
    const recovered = await deadline("a write to be accepted again", async () => {
      const reply = await connection.sure("POST", configMaps, bodyOf("second", "taken"));
      return reply.status === 201 ? reply : undefined;
    });

    const status = JSON.parse(refused.body) as { kind: string; reason: string; message: string };
    assert.deepEqual([refused.status, status.kind, status.reason], [503, "Status", "ServiceUnavailable"]);
    assert.match(status.message, /no space|full/i);
    assert.equal(read.status, 200);
    assert.equal(ready.body, "ok");
    assert.equal(recovered.status, 201);
    assert.equal((await server.end("SIGTERM")).code, 0);
    await using again = await startServer({ dataDir });
    await using other = new Connection(again);
    assert.equal((await other.sure("GET", `${configMaps}/second`)).status, 200);
  } finally {
    execFileSync("umount", ["-l", dataDir]);
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test("SIGTERM lets requests finish, ends watches, and exits with 0", async () => {
  await using server = await startServer();
  await using connection = new Connection(server);
  const { agent, idle } = await keepAlive(server);
  const watch = connection.watch(`${configMaps}?watch=true`);
  const table = connection.watch("/api/v1/namespaces?watch=true&allowWatchBookmarks=true");
  await deadline("the watches to begin", () => (watch.lines.length > 0 && table.lines.length > 0) || undefined);
  const writes = Array.from({ length: 200 }, (_, i) =>
    connection.ask("POST", configMaps, bodyOf(`last-${i}`, "x".repeat(2000))),
  );
  await writes[0];

  const ended = await server.end("SIGTERM");

  const replies = await Promise.all(writes);
  const taken = replies.filter((reply) => reply?.status === 201).length;
  assert.deepEqual(ended, { code: 0, signal: null });
  assert.equal(await watch.ended, 0);
  assert.equal(await table.ended, 0);
  assert(
    replies.every((reply) => reply === undefined || reply.status === 201),
    "an answer that had begun was not finished",
  );
  assert(taken > 0);
  assert.doesNotMatch(server.log(), /cutting off/);
  assert(idle.status === 200);
  agent.destroy();
});

/** An HTTP/1.1 client that keeps its connection open after its request. */
async function keepAlive(server: RunningServer): Promise<{ agent: https.Agent; idle: Reply }> {
  const agent = new https.Agent({ keepAlive: true, ...credentialsOf(server) });
  const idle = await new Promise<Reply>((resolve, reject) => {
    const request = https.get(`${server.url}/version`, { agent }, (response) => {
      response.resume();
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: "" }));
    });
    request.on("error", reject);
    request.on("socket", (socket) => socket.on("error", () => {}));
  });
  return { agent, idle };
}

test("a second SIGTERM ends the server immediately, and SIGINT works like SIGTERM", async () => {
  await using first = await startServer();
  await using second = await startServer();

  assert.deepEqual(await first.end("SIGINT"), { code: 0, signal: null });
  const ending = second.end("SIGTERM");
  await second.end("SIGTERM");

  const { code } = await ending;
  assert(code === 0 || code === 143, `exit code ${code}`);
});
