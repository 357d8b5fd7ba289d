import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { Secret } from "#api/core/secret.ts";
import { systemClock } from "#lib/async/clock.ts";
import { systemRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { ask } from "#testing/peers/ask.ts";
import { gather } from "#why/gather.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";

const secret = (byte: number): string => Buffer.alloc(32, byte).toString("base64");
const aesgcm = (name: string, byte: number) => ({ aesgcm: { keys: [{ name, secret: secret(byte) }] } });
const box = { secretbox: { keys: [{ name: "box", secret: secret(3) }] } };
const password = "correct-horse-battery-staple";
const path1 = "/api/v1/namespaces/default/secrets";
const stringData = { password };

/** A data directory whose servers are started one after the other, each with its own configuration. */
async function directory() {
  const dir = await mkdtemp(path.join(tmpdir(), "orlop-encryption-"));
  const file = path.join(dir, "encryption.json");
  const dataDir = path.join(dir, "data");
  const base = { clock: systemClock, log: silentLog, random: systemRandom, tracing: false };
  return {
    dataDir,
    async start(...providers: object[]): Promise<ControlPlane> {
      const resources = [{ resources: ["secrets"], providers }];
      const kind = { apiVersion: "apiserver.config.k8s.io/v1", kind: "EncryptionConfiguration" };
      await writeFile(file, JSON.stringify({ ...kind, resources }));
      const encryption = providers.length > 0 ? { file, reloads: false } : undefined;
      return await startControlPlane({ dataDir, store: "sqlite", host: "127.0.0.1", port: 0, encryption, ...base });
    },
    /** Everything that is on the disk. */
    async content(): Promise<string> {
      const names = (await readdir(dataDir)).filter((name) => name.startsWith("state.db"));
      const files = await Promise.all(names.map((name) => readFile(path.join(dataDir, name), "latin1")));
      return files.join("");
    },
    /** Changes the file behind the server's back. */
    change(sql: string): void {
      using database = new DatabaseSync(path.join(dataDir, "state.db"));
      database.exec(sql);
    },
    async [Symbol.asyncDispose]() {
      await rm(dir, { recursive: true });
    },
  };
}

const encoded = Buffer.from(password).toString("base64");

test("no secret is in the data file, rotation reads all keys, and a write without changes uses the new one", async () => {
  await using dir = await directory();
  {
    await using plane = await dir.start(aesgcm("key1", 1), { identity: {} });
    for (const name of ["a", "b"]) {
      await ask(plane.api.server, `POST ${path1}`, { body: { metadata: { name }, stringData } });
    }
    await ask(plane.api.server, `PATCH ${path1}/a`, {
      body: { metadata: { labels: { changed: "yes" } } },
      headers: { "content-type": "application/merge-patch+json" },
    });
    const read = await ask(plane.api.server, `GET ${path1}/a`);
    assert.equal(read.json.data?.password, encoded);
  }
  const first = await dir.content();
  assert(first.includes("k8s:enc:aesgcm:v1:key1:"));
  assert(!first.includes(password) && !first.includes(encoded));
  {
    await using plane = await dir.start(box, aesgcm("key1", 1));
    const { json } = await ask(plane.api.server, `GET ${path1}/a`);
    const again = await ask(plane.api.server, `PUT ${path1}/a`, { body: json });
    assert.equal(again.status, 200);
    assert.notEqual(again.json.metadata?.resourceVersion, json.metadata?.resourceVersion);
    const third = await ask(plane.api.server, `PUT ${path1}/a`, { body: again.json });
    assert.equal(third.json.metadata?.resourceVersion, again.json.metadata?.resourceVersion);
    assert.equal((await ask(plane.api.server, `GET ${path1}/b`)).json.data?.password, encoded);
  }
  const second = await dir.content();
  assert(second.includes("k8s:enc:secretbox:v1:box:"));
  assert(!second.includes(password) && !second.includes(encoded));
});

test("what cannot be decrypted fails alone, and lists name it", async () => {
  await using dir = await directory();
  {
    await using plane = await dir.start(aesgcm("key1", 1));
    for (const name of ["a", "b", "c", "d"]) {
      await ask(plane.api.server, `POST ${path1}`, { body: { metadata: { name }, stringData } });
    }
  }
  const place = (name: string) => `key = '/registry/secrets/default/${name}'`;
  dir.change(`UPDATE rows SET value = (SELECT value FROM rows WHERE ${place("a")}) WHERE ${place("b")}`);
  dir.change(`UPDATE rows SET value = substr(value, 1, length(value) - 3) WHERE ${place("c")}`);
  await using plane = await dir.start(aesgcm("key1", 1));
  const { server } = plane.api;

  const [a, b] = await Promise.all([ask(server, `GET ${path1}/a`), ask(server, `GET ${path1}/b`)]);
  const list = await ask(server, `GET ${path1}`);
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const table = await ask(server, `GET ${path1}`, { headers: { accept } });
  const protobuf = await ask(server, `GET ${path1}`, { headers: { accept: "application/vnd.kubernetes.protobuf" } });
  const pages = await ask(server, `GET ${path1}?limit=2`);
  const rest = await ask(server, `GET ${path1}?limit=2&continue=${pages.json.metadata?.continue}`);
  const one = await ask(server, `GET ${path1}?fieldSelector=metadata.name%3Dc`);
  const labelled = await ask(server, `GET ${path1}?labelSelector=x%3Dy`);
  const update = await ask(server, `PUT ${path1}/b`, { body: { metadata: { name: "b" }, stringData } });
  const informer = plane.api.informers.of(Secret);
  const informed = informer.list("default").map(({ metadata }) => metadata.name);
  const all = await ask(server, `DELETE ${path1}`);

  const names = (said: typeof list) => said.items.map(({ metadata }) => metadata?.name);
  assert.equal(a.json.data?.password, encoded);
  assert.equal(b.status, 500);
  const explained = await gather(plane.api.loopback, { resource: Secret, namespace: "default", name: "b" }, 0);
  assert.equal(explained.about, "unreadable");
  const why = 'unable to transform key "/registry/secrets/default/b": cipher: message authentication failed';
  assert.equal(b.json.message, `Internal error occurred: ${why}`);
  assert.deepEqual(names(list), ["a", "b", "c", "d"]);
  assert.equal(list.items[1]?.data, undefined);
  assert.match(list.warnings[0] ?? "", /secrets \\"b\\" in namespace \\"default\\" cannot be decrypted/);
  assert.equal((table.json.rows as unknown as unknown[]).length, 4);
  assert.equal(protobuf.status, 200);
  assert.deepEqual([...names(pages), ...names(rest)], ["a", "b", "c", "d"]);
  assert.equal(one.status, 500);
  assert.deepEqual([labelled.status, labelled.items.length], [200, 0]);
  assert.deepEqual([update.status, all.status], [500, 500]);
  assert.deepEqual(informed, ["a", "d"]);
  assert.throws(() => informer.get({ namespace: "default", name: "b" }), /message authentication failed/);
});

test("a server without the configuration refuses what is encrypted, and serves the rest", async () => {
  await using dir = await directory();
  {
    await using plane = await dir.start(aesgcm("key1", 1));
    await ask(plane.api.server, `POST ${path1}`, { body: { metadata: { name: "a" }, stringData } });
  }
  await using plane = await dir.start();
  const { server } = plane.api;
  await ask(server, `POST ${path1}`, { body: { metadata: { name: "plain" }, stringData } });

  const read = await ask(server, `GET ${path1}/a`);
  const plain = await ask(server, `GET ${path1}/plain`);

  assert.equal(read.status, 500);
  assert.match(String(read.json.message), /identity transformer tried to read encrypted data/);
  assert.equal(plain.json.data?.password, encoded);
});
