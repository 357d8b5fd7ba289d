import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { createAuthority, createCertificate } from "#lib/crypto/x509.ts";
import { silentLog } from "#lib/process/log.ts";
import { startEtcd } from "#testing/peers/etcd.ts";
import { bytes, collect, commit, keysOf, put, text } from "../store.suite.ts";
import { type Store } from "../store.ts";
import { EtcdError, openEtcdStore } from "./etcd-store.ts";

const directory = mkdtempSync(join(tmpdir(), "orlop-etcd-tls-"));
const base = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3600_000 };
const authority = createAuthority({ subject: { commonName: "etcd" }, ...base });
const issue = (use: "server" | "client") =>
  createCertificate(authority, { subject: { commonName: use }, use, hosts: ["127.0.0.1"], ...base });
const write = (name: string, pem: string): string => {
  const file = join(directory, name);
  writeFileSync(file, pem);
  return file;
};
const serving = issue("server");
const client = issue("client");
const etcd = await startEtcd({
  tls: {
    certFile: write("server.crt", serving.certificate),
    keyFile: write("server.key", serving.key),
    caFile: write("ca.crt", authority.certificate),
  },
});
after(async () => {
  await etcd[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const tls = { ca: authority.certificate, cert: client.certificate, key: client.key };
const open = (theirs: string, credentials: object = tls): Promise<Store> => {
  const options = { endpoints: etcd.endpoints, clock: systemClock, log: silentLog };
  return openEtcdStore({ ...options, tls: credentials, keys: { ours: "", theirs } });
};

test("etcd is used over TLS with a client certificate, and not without one or with another authority", async () => {
  await using store = await open("/tls");
  await put(store, "/a", "1");
  const { ca, cert, key } = tls;

  await Promise.all([{ ca }, { cert, key }].map((wrong) => assert.rejects(open("/tls", wrong), EtcdError)));
});

test("two stores see each other's writes, in one order, and keep out of other prefixes", async () => {
  await using first = await open("/both");
  await using second = await open("/both");
  await using stranger = await open("/both2");
  const from = first.revision;
  const seen = [first, second].map((store) => collect(store, "/", from));

  const increment = async (store: Store) => {
    for (;;) {
      const entry = await store.get("/n");
      const value = bytes(String(Number(text(entry?.value) ?? 0) + 1));
      if ((await store.commit([{ key: "/n", value, expected: entry?.revision ?? 0 }])).ok) return;
    }
  };
  await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      n % 4 === 3 ? put(stranger, `/${n}`, "x") : increment(n % 2 ? first : second),
    ),
  );
  for (const [n, store] of [first, second].entries()) {
    await store.catchUp?.();
    await seen[n]?.upTo(store.revision);
  }

  assert.equal(text((await first.get("/n"))?.value), "30");
  assert.deepEqual(await keysOf(second, ""), ["/n"]);
  const values = (n: number) => seen[n]?.events.map(({ value }) => text(value));
  assert.deepEqual(
    values(0),
    Array.from({ length: 30 }, (_, n) => String(n + 1)),
  );
  assert.deepEqual(values(1), values(0));
});

test("catchUp() shows what another store has confirmed before", async () => {
  await using first = await open("/fresh");
  await using second = await open("/fresh");
  for (let n = 0; n < 50; n++) {
    const revision = await commit(first, [{ key: "/a", value: bytes(String(n)) }]);

    await second.catchUp?.();

    assert(second.revision >= revision);
    assert.equal(text((await second.get("/a"))?.value), String(n));
  }
});

test("a store that was opened later has the same entries, in pages and with large values", async () => {
  await using first = await open("/many");
  const value = new Uint8Array(8000).fill(97);
  await Promise.all(Array.from({ length: 800 }, (_, n) => commit(first, [{ key: `/k/${n}`, value }])));

  await using second = await open("/many");

  assert.deepEqual(await keysOf(second, "/k/"), await keysOf(first, "/k/"));
  assert.deepEqual(await second.get("/k/777"), { ...(await first.get("/k/777")), value: Buffer.from(value) });
});
