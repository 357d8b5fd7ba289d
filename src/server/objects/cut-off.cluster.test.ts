import assert from "node:assert/strict";
import { test } from "node:test";
import { neverAborted } from "#lib/async/tasks.ts";
import { startAllocator } from "#server/allocate/allocator.suite.ts";
import { openMemoryStore } from "#store/memory.ts";
import { type Store, StoreCutOffError, StoreUnavailableError } from "#store/store.ts";
import { ask } from "#testing/peers/ask.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";

/** A store of several servers, which answers how far it is as `answer` says. */
function sharedStore(answer: { catchUp: () => Promise<void> }): Store {
  const inner = openMemoryStore({ clock: createVirtualClock() });
  return new Proxy(inner, {
    get(target, name) {
      if (name === "catchUp") return () => answer.catchUp();
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

test("reads go on from the cache with a warning while the store cannot be asked, and writes do not", async () => {
  const answer = { catchUp: () => Promise.resolve() };
  await using store = sharedStore(answer);
  await using served = await startAllocator(undefined, store);
  await served.create("web");
  const { server } = served.api;
  const path = "/api/v1/namespaces/default/services";
  const late = Promise.withResolvers<void>();

  answer.catchUp = () => Promise.reject(new StoreCutOffError("no majority"));
  const read = await ask(server, `GET ${path}/web`);
  answer.catchUp = () => late.promise;
  const atOnce = await ask(server, `GET ${path}`);
  answer.catchUp = () => Promise.reject(new StoreCutOffError("no majority"));
  const written = await ask(server, `DELETE ${path}/web`);
  answer.catchUp = () => Promise.resolve();
  late.resolve();
  await ask(server, `GET ${path}`);
  const after = await ask(server, `GET ${path}`);

  assert.equal(read.json.metadata?.name, "web");
  assert.match(read.warnings.join(), /the store does not answer/);
  assert.equal(atOnce.items.length, 1);
  assert.match(atOnce.warnings.join(), /the store does not answer/);
  assert.equal(written.status, 503);
  assert.deepEqual(after.warnings, []);
});

test("a store that must not be used any more is not read either", async () => {
  const answer = { catchUp: () => Promise.resolve() };
  await using store = sharedStore(answer);
  await using served = await startAllocator(undefined, store);

  answer.catchUp = () => Promise.reject(new StoreUnavailableError("its data was replaced"));

  assert.equal((await ask(served.api.server, "GET /api/v1/namespaces/default/services")).status, 503);
});

test("a token is valid here as soon as another server has made its account", async () => {
  const answer = { catchUp: () => Promise.resolve() };
  await using store = sharedStore(answer);
  await using served = await startAllocator(undefined, store);
  const { server } = served.api;
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  await ask(server, `POST ${accounts}`, { body: { metadata: { name: "web" } } });
  const made = await ask(server, `POST ${accounts}/web/token`, { body: { spec: {} } });
  const authorization = `Bearer ${String(made.json.status?.token)}`;
  const key = "/registry/serviceaccounts/default/web";
  const entry = await store.get(key);
  assert(entry);
  const asAccount = async () => {
    const request = { method: "GET", path: "/api", query: "", headers: { authorization }, body: undefined };
    const { wire } = await server.serve({ ...request, signal: neverAborted, peer: { address: "127.0.0.1" } });
    return "status" in wire ? wire.status : 0;
  };

  // The mirror does not show the account before the server asks the store how far it is.
  await store.commit([{ key, value: undefined }]);
  answer.catchUp = async () => void (await store.commit([{ key, value: entry.value }]));

  assert.equal(await asAccount(), 200);
});
