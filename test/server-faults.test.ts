import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import http2 from "node:http2";
import https from "node:https";
import path from "node:path";
import { test } from "node:test";
import { seededRandom } from "#lib/random.ts";
import { credentialsOf, deadline, makeTempDir, type RunningServer, startServer } from "./support/server.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const bodyOf = (name: string, text: string): string =>
  JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { text } });

interface Reply {
  readonly status: number;
  readonly body: string;
}

/** A connection of one's own to the server, over HTTP/2. */
class Connection implements AsyncDisposable {
  readonly #session: http2.ClientHttp2Session;

  constructor(server: RunningServer) {
    this.#session = http2.connect(server.url, credentialsOf(server));
    this.#session.on("error", () => {});
  }

  /** undefined: there was no answer. */
  ask(method: string, url: string, body?: string): Promise<Reply | undefined> {
    const { promise, resolve } = Promise.withResolvers<Reply | undefined>();
    if (this.#session.destroyed || this.#session.closed) return Promise.resolve(undefined);
    const headers = { ":method": method, ":path": url, "content-type": "application/json" };
    const stream = this.#session.request(headers, { endStream: body === undefined });
    const chunks: Buffer[] = [];
    let status = 0;
    stream.on("response", (answer) => (status = Number(answer[":status"])));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => resolve(status ? { status, body: Buffer.concat(chunks).toString() } : undefined));
    stream.on("error", () => resolve(undefined));
    stream.on("close", () => resolve(undefined));
    if (body !== undefined) stream.end(body);
    return promise;
  }

  async sure(method: string, url: string, body?: string): Promise<Reply> {
    const reply = await this.ask(method, url, body);
    assert(reply, `${method} ${url} was not answered`);
    return reply;
  }

  /** Lines as they come, until the server ends. */
  watch(url: string): { readonly lines: string[]; readonly ended: Promise<number> } {
    const stream = this.#session.request({ ":method": "GET", ":path": url });
    const lines: string[] = [];
    let rest = "";
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      const parts = (rest + text).split("\n");
      rest = parts.pop() ?? "";
      lines.push(...parts);
    });
    stream.on("error", () => {});
    return { lines, ended: new Promise((resolve) => stream.on("close", () => resolve(stream.rstCode ?? 0))) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#session.destroy();
  }
}

/** undefined: the server was killed in the middle of its answer. */
function revisionIn(body: string): number | undefined {
  try {
    return Number((JSON.parse(body) as { metadata: { resourceVersion: string } }).metadata.resourceVersion);
  } catch {
    return undefined;
  }
}

test("kill -9 while clients write loses nothing that was acknowledged, and the revision never goes back", async () => {
  const dataDir = makeTempDir();
  const random = seededRandom(11);
  const acknowledged = new Map<string, { text: string; revision: number }>();
  let highest = 0;
  try {
    for (let round = 0; round < 6; round++) {
      await using server = await startServer({ dataDir });
      await using connection = new Connection(server);
      highest = await assertKept(connection, acknowledged, highest);
      const limit = acknowledged.size + 50 + Math.floor(random() * 500);
      const writers = Array.from({ length: 32 }, (_, id) => write(connection, `${round}-${id}`, acknowledged));
      await deadline("enough writes", () => acknowledged.size >= limit || undefined);
      await server.end("SIGKILL");
      await Promise.all(writers);
      highest = Math.max(highest, ...[...acknowledged.values()].map(({ revision }) => revision));
    }
    await using server = await startServer({ dataDir });
    await using connection = new Connection(server);
    await assertKept(connection, acknowledged, highest);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

/** Creates and updates until the server is gone. */
async function write(
  connection: Connection,
  id: string,
  acknowledged: Map<string, { text: string; revision: number }>,
): Promise<void> {
  for (let n = 0; ; n++) {
    const name = `w-${id}-${n}`;
    for (const method of ["POST", "PUT"]) {
      const text = `${method} ${name} ${"x".repeat((n * 97) % 2000)}`;
      const url = method === "POST" ? configMaps : `${configMaps}/${name}`;
      const reply = await connection.ask(method, url, bodyOf(name, text));
      if (!reply) return;
      assert(reply.status < 300, reply.body);
      const revision = revisionIn(reply.body);
      if (revision === undefined) return;
      acknowledged.set(name, { text, revision });
    }
  }
}

/** Returns the store's revision. */
async function assertKept(
  connection: Connection,
  acknowledged: ReadonlyMap<string, { text: string; revision: number }>,
  highest: number,
): Promise<number> {
  const { body } = await connection.sure("GET", configMaps);
  const list = JSON.parse(body) as {
    items: { metadata: { name: string; resourceVersion: string }; data: { text: string } }[];
  };
  const found = new Map(list.items.map((item) => [item.metadata.name, item]));
  for (const [name, { text, revision }] of acknowledged) {
    const item = found.get(name);
    assert(item, `${name} was acknowledged at ${revision} and is gone`);
    const isNewer = Number(item.metadata.resourceVersion) > revision;
    assert(item.data.text === text || isNewer, `${name} was acknowledged at ${revision} and is as before`);
  }
  const revision = revisionIn(body);
  assert(revision !== undefined);
  assert(revision >= highest, `the revision went back from ${highest} to ${revision}`);
  return revision;
}

test("a full disk refuses writes and answers reads; with space again it goes on by itself", async (t) => {
  const dataDir = makeTempDir();
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=16m", "tmpfs", dataDir], { stdio: "ignore" });
  } catch {
    return t.skip("needs root, to make a small disk");
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
    const recovered = await deadline("a write to be taken again", async () => {
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
    "an answer that began was not finished",
  );
  assert(taken > 0);
  assert.doesNotMatch(server.log(), /cutting off/);
  assert(idle.status === 200);
  agent.destroy();
});

/** A client on HTTP/1.1 that keeps its connection open after its request. */
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

test("a second SIGTERM ends at once, and SIGINT is as good as SIGTERM", async () => {
  await using first = await startServer();
  await using second = await startServer();

  assert.deepEqual(await first.end("SIGINT"), { code: 0, signal: null });
  const ending = second.end("SIGTERM");
  await second.end("SIGTERM");

  const { code } = await ending;
  assert(code === 0 || code === 143, `exit code ${code}`);
});
