import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { openEtcdStore } from "#store/etcd/etcd-store.ts";
import { type Store, type StoreEvent } from "#store/store.ts";
import { startEtcd } from "#testing/peers/etcd.ts";
import { aesGcm } from "./ciphers.ts";
import { EncryptedStore } from "./encrypted-store.ts";
import { keyProvider } from "./key-provider.ts";
import { Transformer } from "./provider.ts";

const key = "/registry/secrets/default/a";
const text = (value: Uint8Array | undefined): string => Buffer.from(value ?? []).toString("latin1");
const encrypted = (store: Store, byte: number): EncryptedStore => {
  const transformer = new Transformer([keyProvider("aesgcm", [{ name: "k", cipher: aesGcm(Buffer.alloc(32, byte)) }])]);
  return new EncryptedStore(store, () => transformer);
};

test("two servers on one etcd share encrypted values, and a third without the key knows only their names", async () => {
  await using etcd = await startEtcd();
  const options = { endpoints: etcd.endpoints, clock: systemClock, log: silentLog };
  const open = () => openEtcdStore({ ...options, keys: { ours: "/registry", theirs: "/registry" } });
  await using plain = await open();
  await using behind = await open();
  const [writer, reader, stranger] = [encrypted(plain, 1), encrypted(behind, 1), encrypted(behind, 2)];
  const seen: StoreEvent[] = [];
  reader.watch("/registry/", reader.revision, { events: (events) => seen.push(...events), failed: assert.ifError });

  const written = Buffer.from("hunter2");
  await writer.commit([{ key, value: () => written }]);
  await reader.catchUp?.();

  assert.deepEqual(
    seen.map(({ value }) => text(value)),
    ["hunter2"],
  );
  assert.equal((await writer.get(key))?.value, written);
  assert.match(text((await plain.get(key))?.value), /^k8s:enc:aesgcm:v1:k:/);
  const { entries } = await stranger.list("/registry/secrets/");
  assert.deepEqual(
    entries.map((entry) => [entry.key, entry.value.length]),
    [[key, 0]],
  );
  assert.match(entries[0]?.fault?.message ?? "", /message authentication failed/);
});
