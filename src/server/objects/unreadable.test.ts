import assert from "node:assert/strict";
import { test } from "node:test";
import { Secret } from "#api/core/secret.ts";
import { type Resource } from "#api/resource.ts";
import { silentLog } from "#lib/process/log.ts";
import { type Change } from "#runtime/informer.ts";
import { aesGcm } from "#server/encrypt/ciphers.ts";
import { EncryptedStore } from "#server/encrypt/encrypted-store.ts";
import { keyProvider } from "#server/encrypt/key-provider.ts";
import { Transformer } from "#server/encrypt/provider.ts";
import { openMemoryStore } from "#store/memory.ts";
import { type Entry, type Store } from "#store/store.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Objects } from "./objects.ts";

/** Two servers on one store. The second can lose its key. */
function setUp() {
  const clock = createVirtualClock();
  const store = openMemoryStore({ clock });
  const state = { hasKey: true, readable: "" };
  const provider = keyProvider("aesgcm", [{ name: "k", cipher: aesGcm(Buffer.alloc(32, 1)) }]);
  const locked = {
    ...provider,
    open(sealed: Uint8Array, place: Buffer) {
      if (!state.hasKey && place.toString() !== state.readable) throw new Error("the key is away");
      return provider.open(sealed, place);
    },
  };
  const over = (transformer: Transformer) =>
    new Objects({ store: new EncryptedStore(store, () => transformer), clock, log: silentLog });
  return { clock, state, writer: over(new Transformer([provider])), reader: over(new Transformer([locked])) };
}

const secret = (name: string, password: string): Secret => {
  const metadata = { name, namespace: "default" } as Secret["metadata"];
  return { kind: "Secret", apiVersion: "v1", metadata, data: { password }, type: "Opaque" };
};
const place = { namespace: "default", name: "a" };

test("an object whose key is away is refused, and comes back with its key", async () => {
  const { clock, state, writer, reader } = setUp();
  await writer.create(Secret, secret("a", "b25l"));
  await writer.create(Secret, secret("b", "dHdv"));
  state.hasKey = false;
  const cache = await reader.cache(Secret);
  const told: Change<Secret>[] = [];
  cache.subscribe((change) => told.push(change));

  assert.throws(() => cache.get(place), /unable to transform key "\/registry\/secrets\/default\/a": the key is away/);
  assert.deepEqual(cache.list(), []);
  assert.equal(cache.unreadable.in("default").length, 2);
  await clock.advance(10_000);
  assert.throws(() => cache.get(place), /the key is away/);
  state.hasKey = true;
  await clock.advance(10_000);

  assert.equal(cache.get(place)?.data?.password, "b25l");
  assert.equal(cache.unreadable.size, 0);
  assert.deepEqual(
    told.map(({ type, object }) => `${type} ${object.metadata.name}`),
    ["put a", "put b"],
  );
});

test("components keep the last version that could be read, and learn of a deletion", async () => {
  const { state, writer, reader } = setUp();
  const { revision } = await writer.create(Secret, secret("a", "b25l"));
  const cache = await reader.cache(Secret);
  const told: string[] = [];
  cache.subscribe(({ type }) => told.push(type));
  state.hasKey = false;

  const next = await writer.replace(Secret, secret("a", "dHdv"), revision);
  assert.throws(() => cache.encoded("default", "a"), /the key is away/);
  assert.equal(cache.list()[0]?.data?.password, "b25l");
  assert.equal(cache.revision, next?.revision);
  await writer.remove(Secret as unknown as Resource, secret("a", ""), next?.revision ?? 0);

  assert.equal(cache.get(place), undefined);
  assert.deepEqual(told, ["put", "delete"]);
});

test("every object is tried again, however many there are", async () => {
  const { clock, state, writer, reader } = setUp();
  for (let n = 0; n < 250; n++) await writer.create(Secret, secret(`s${n}`, "b25l"));
  state.hasKey = false;
  const cache = await reader.cache(Secret);
  state.readable = "/registry/secrets/default/s222";
  await clock.advance(30_000);

  assert.equal(cache.get({ namespace: "default", name: "s222" })?.data?.password, "b25l");
  assert.equal(cache.unreadable.size, 249);
});

test("a cache that is being filled again is not filled twice", async () => {
  const clock = createVirtualClock();
  const inner = openMemoryStore({ clock });
  const writer = new Objects({ store: inner, clock, log: silentLog });
  await writer.create(Secret, secret("a", "b25l"));
  const state = { fault: new Error("the key is away") as Error | undefined, list: Promise.resolve() };
  const store = new Proxy(inner, {
    get(_, name: keyof Store) {
      if (name === "get") return async (key: string) => withFault(await inner.get(key), state.fault);
      if (name !== "list") return typeof inner[name] === "function" ? inner[name].bind(inner) : inner[name];
      return async (prefix: string) => {
        const found = await inner.list(prefix);
        const entries = found.entries.map((entry) => withFault(entry, state.fault));
        await state.list;
        return { ...found, entries };
      };
    },
  });
  const cache = await new Objects({ store, clock, log: silentLog }).cache(Secret);
  const told: string[] = [];
  cache.subscribe(({ object }) => told.push(object.metadata.name));
  const slow = Promise.withResolvers<void>();
  Object.assign(state, { fault: undefined, list: slow.promise });

  await clock.advance(30_000);
  slow.resolve();
  await cache.synced();
  await writer.create(Secret, secret("b", "dHdv"));
  const { revision } = await writer.create(Secret, secret("c", "dHdv"));
  await cache.caughtUpTo(revision);

  assert.deepEqual(told, ["a", "b", "c"]);
});

const withFault = <E extends Entry | undefined>(entry: E, fault: Error | undefined): E =>
  entry && fault ? { ...entry, fault } : entry;
