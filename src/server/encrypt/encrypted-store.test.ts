import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryStore } from "#store/memory.ts";
import { storeSuite } from "#store/store.suite.ts";
import { type Store, type StoreEvent } from "#store/store.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { aesCbc, aesGcm, derivedAesGcm, secretbox } from "./ciphers.ts";
import { EncryptedStore } from "./encrypted-store.ts";
import { identity, keyProvider } from "./key-provider.ts";
import { type Provider, Transformer } from "./provider.ts";

const key = Buffer.alloc(32, 7);
const otherKey = Buffer.alloc(32, 8);
const gcm = (name: string, secret = key): Provider => keyProvider("aesgcm", [{ name, cipher: aesGcm(secret) }]);
const over = (store: Store, ...providers: Provider[]): EncryptedStore => {
  const transformer = new Transformer(providers);
  return new EncryptedStore(store, () => transformer);
};
const text = (value: Uint8Array | undefined): string => Buffer.from(value ?? []).toString();
const put = (store: Store, name: string, value: string) => store.commit([{ key: name, value: Buffer.from(value) }]);

storeSuite("EncryptedStore", async (clock) => over(openMemoryStore({ clock }), gcm("key1")));

/** Fetches its key first, as a provider with an external key does. */
const slow = (): Provider => {
  const provider = gcm("key1");
  return { ...provider, open: async (sealed, place) => provider.open(sealed, place) };
};
storeSuite("EncryptedStore whose keys arrive late", async (clock) => over(openMemoryStore({ clock }), slow()));

test("stored values have upstream's prefix and nothing of the value", async () => {
  const inner = openMemoryStore({ clock: createVirtualClock() });
  const providers = {
    "k8s:enc:aesgcm:v1:key1:": gcm("key1"),
    "k8s:enc:aescbc:v1:key1:": keyProvider("aescbc", [{ name: "key1", cipher: aesCbc(key) }]),
    "k8s:enc:secretbox:v1:key1:": keyProvider("secretbox", [{ name: "key1", cipher: secretbox(key) }]),
  };
  for (const [prefix, provider] of Object.entries(providers)) {
    const store = over(inner, provider, identity);
    await put(store, "/registry/secrets/default/a", "the value");

    const stored = text((await inner.get("/registry/secrets/default/a"))?.value);
    assert(stored.startsWith(prefix), stored);
    assert(!stored.includes("value"));
    assert.equal(text((await store.get("/registry/secrets/default/a"))?.value), "the value");
  }
});

test("a value that was moved, cut, changed or encrypted with another key has a fault, and others are read", async () => {
  const inner = openMemoryStore({ clock: createVirtualClock() });
  const store = over(inner, gcm("key1"), identity);
  await put(store, "/registry/secrets/default/good", "good");
  await put(store, "/registry/secrets/default/a", "a");
  const sealed = (await inner.get("/registry/secrets/default/a"))?.value ?? Buffer.alloc(0);
  const changed = Uint8Array.from(sealed);
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  const other = over(inner, gcm("key1", otherKey));
  await inner.commit([{ key: "/registry/secrets/default/moved", value: sealed }]);
  await inner.commit([{ key: "/registry/secrets/default/cut", value: sealed.subarray(0, -1) }]);
  await inner.commit([{ key: "/registry/secrets/default/empty", value: sealed.subarray(0, 25) }]);
  await inner.commit([{ key: "/registry/secrets/default/changed", value: changed }]);
  await inner.commit([{ key: "/registry/secrets/default/gone", value: Buffer.from("k8s:enc:aesgcm:v1:old:xyz") }]);
  await put(other, "/registry/secrets/default/other", "x");

  const { entries } = await store.list("/registry/secrets/");

  const faults = Object.fromEntries(entries.map((entry) => [entry.key.split("/")[4], entry.fault?.message]));
  const at = (name: string) => `unable to transform key "/registry/secrets/default/${name}": `;
  assert.deepEqual(faults, {
    a: undefined,
    good: undefined,
    changed: `${at("changed")}cipher: message authentication failed`,
    cut: `${at("cut")}cipher: message authentication failed`,
    empty: `${at("empty")}the stored data was shorter than the required size`,
    gone: `${at("gone")}no matching key was found for the provided AES transformer`,
    moved: `${at("moved")}cipher: message authentication failed`,
    other: `${at("other")}cipher: message authentication failed`,
  });
});

test("the first key writes, all read, and the values of the others are stale", async () => {
  const inner = openMemoryStore({ clock: createVirtualClock() });
  await put(inner, "/plain", "0");
  await put(over(inner, gcm("old")), "/old", "1");
  const both = over(
    inner,
    keyProvider("aesgcm", [
      { name: "new", cipher: aesGcm(otherKey) },
      { name: "old", cipher: aesGcm(key) },
    ]),
    identity,
  );
  await put(both, "/new", "2");

  for (const [name, value, isStale] of [
    ["/plain", "0", true],
    ["/old", "1", true],
    ["/new", "2", false],
  ] as const) {
    assert.equal(text((await both.get(name))?.value), value);
    assert.equal(await both.isStale(name), isStale);
  }
});

test("identity as the first provider writes plain text and reads what was encrypted", async () => {
  const inner = openMemoryStore({ clock: createVirtualClock() });
  await put(over(inner, gcm("key1")), "/a", "secret");
  const store = over(inner, identity, gcm("key1"));
  await put(store, "/b", "plain");

  assert.equal(text((await store.get("/a"))?.value), "secret");
  assert.equal(await store.isStale("/a"), true);
  assert.equal(text((await inner.get("/b"))?.value), "plain");
});

test("two providers with the same prefix and different keys both read", async () => {
  const inner = openMemoryStore({ clock: createVirtualClock() });
  await put(over(inner, gcm("1")), "/a", "first");

  assert.equal(text((await over(inner, gcm("1", otherKey), gcm("1")).get("/a"))?.value), "first");
});

test("a watcher gets what was written, without decrypting what this process wrote", async () => {
  const inner = openMemoryStore({ clock: createVirtualClock() });
  let opened = 0;
  const provider = gcm("key1");
  const open: Provider["open"] = (sealed, place) => {
    opened++;
    return provider.open(sealed, place);
  };
  const store = over(inner, { ...provider, open });
  const seen: StoreEvent[] = [];
  store.watch("/", store.revision, { events: (events) => seen.push(...events), failed: assert.ifError });
  const own = Buffer.from("own");

  await store.commit([{ key: "/a", value: own }]);
  await over(inner, gcm("key1")).commit([{ key: "/b", value: Buffer.from("foreign") }]);

  assert.equal(seen[0]?.value, own);
  assert.equal(text(seen[1]?.value), "foreign");
  assert.equal(opened, 1);
});

test("events that wait for their key are delivered in order", async () => {
  const inner = openMemoryStore({ clock: createVirtualClock() });
  const provider = gcm("key1");
  const gate = Promise.withResolvers<void>();
  const late: Provider = {
    ...provider,
    open: (sealed, place) =>
      place.toString() === "/late"
        ? gate.promise.then(() => provider.open(sealed, place))
        : provider.open(sealed, place),
  };
  const store = over(inner, late);
  const seen: string[] = [];
  const events = (all: readonly StoreEvent[]) => void seen.push(...all.map((event) => event.key));
  store.watch("/", store.revision, { events, failed: assert.ifError });

  await put(over(inner, provider), "/late", "1");
  await put(over(inner, provider), "/soon", "2");
  assert.deepEqual(seen, []);
  const own = put(store, "/own", "3");
  gate.resolve();
  await own;

  assert.deepEqual(seen, ["/late", "/soon", "/own"]);
});

test("a watcher that failed on a late event gets nothing more", async () => {
  const inner = openMemoryStore({ clock: createVirtualClock() });
  const store = over(inner, slow());
  const broken = new Error("the watcher broke");
  const calls: string[] = [];
  const failed = Promise.withResolvers<Error>();
  store.watch("/", store.revision, {
    events: (events) => {
      calls.push(...events.map((event) => event.key));
      throw broken;
    },
    failed: (error) => {
      calls.push("failed");
      failed.resolve(error);
    },
  });

  await put(over(inner, gcm("key1")), "/a", "1");
  assert.equal(await failed.promise, broken);
  await put(over(inner, gcm("key1")), "/b", "2");
  await put(store, "/c", "3");

  assert.deepEqual(calls, ["/a", "failed"]);
});

test("a derived key depends on the seed, and the value on its place", () => {
  const cipher = derivedAesGcm(key);
  const sealed = cipher.seal(Buffer.from("value"), Buffer.from("/a"));

  assert.equal(text(cipher.open(sealed, Buffer.from("/a"))), "value");
  assert.throws(() => cipher.open(sealed, Buffer.from("/b")), /authentication failed/);
  assert.throws(() => derivedAesGcm(otherKey).open(sealed, Buffer.from("/a")), /authentication failed/);
});

test("a list waits once for a key service that hangs, and not for every value", async () => {
  const inner = openMemoryStore({ clock: createVirtualClock() });
  for (let n = 0; n < 20; n++) await put(over(inner, gcm("key1")), `/${n}`, "x");
  const gate = Promise.withResolvers<Uint8Array>();
  let asked = 0;
  const open: Provider["open"] = () => {
    asked++;
    return gate.promise;
  };
  const listing = over(inner, { ...gcm("key1"), open }).list("/");
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(asked, 20);
  gate.reject(new Error("no answer within 3000 ms"));

  const { entries } = await listing;
  assert.match(entries[19]?.fault?.message ?? "", /no answer within 3000 ms/);
});
