import assert from "node:assert/strict";
import test from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { type Informer } from "#runtime/informer.ts";
import { findNamespace } from "./find-namespace.ts";

const known = { metadata: { name: "known" } } as unknown as Namespace;
const namespaces = { get: ({ name }: { name: string }) => (name === "known" ? known : undefined) };

function setUp() {
  let signals = 0;
  const asked: string[] = [];
  const client = {
    get: (_: unknown, { name }: { name: string }) => {
      asked.push(name);
      return Promise.resolve(known);
    },
  };
  const request = {
    namespace: "known",
    get signal() {
      signals++;
      return new AbortController().signal;
    },
  };
  const source = { namespaces: namespaces as Informer<Namespace>, client: client as never };
  return { source, request, asked, signals: () => signals };
}

test("findNamespace() makes no signal for a namespace that is in the cache", () => {
  const { source, request, asked, signals } = setUp();

  assert.equal(findNamespace(source, request), known);

  assert.deepEqual([asked, signals()], [[], 0]);
});

test("findNamespace() asks for a new namespace with the signal of the request", async () => {
  const { source, request, asked, signals } = setUp();

  assert.equal(await findNamespace(source, request, "new"), known);

  assert.deepEqual([asked, signals()], [["new"], 1]);
});
