import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { type Answer } from "#api/exchange.ts";
import { type Resource } from "#api/resource.ts";
import { PendingBytes, remoteEvents, wholeAnswer } from "./remote-answer.ts";

const kindOf = (remoteServer: string): Resource => ({ ...(ConfigMap as unknown as Resource), remoteServer });
const [theirs, others] = [kindOf("a/theirs:443"), kindOf("a/others:443")];

function stream(chunks: Iterable<Uint8Array>): Extract<Answer, { type: "stream" }> {
  async function* body() {
    yield* chunks;
  }
  return { type: "stream", status: 200, contentType: "application/json", body: body() } as never;
}
/** Never ends. */
function hanging(bytes: number): Extract<Answer, { type: "stream" }> {
  async function* body() {
    yield Buffer.alloc(bytes);
    await new Promise(() => undefined);
  }
  return { type: "stream", status: 200, contentType: "application/json", body: body() } as never;
}
const line = (name: string): Buffer =>
  Buffer.from(`${JSON.stringify({ type: "ADDED", object: { metadata: { name } } })}\n`);
const MiB = 1 << 20;

async function count(events: AsyncIterable<unknown>): Promise<number> {
  let found = 0;
  for await (const _ of events) found++;
  return found;
}

test("an answer of another server is read up to a limit", async () => {
  const pending = new PendingBytes().open(theirs);
  const reading = wholeAnswer(stream([Buffer.alloc(3 * MiB), Buffer.alloc(3 * MiB)]), { isDropped: false, pending });

  await assert.rejects(reading, /another server answered with more than 4194304 bytes/);
});

test("incomplete answers of one server are limited together, and do not limit other servers", async () => {
  const all = new PendingBytes();
  for (let n = 0; n < 8; n++) void wholeAnswer(hanging(4 * MiB), { isDropped: false, pending: all.open(theirs) });
  await new Promise((resolve) => setImmediate(resolve));
  const read = (resource: Resource) =>
    wholeAnswer(stream([Buffer.alloc(MiB)]), { isDropped: false, pending: all.open(resource) });

  await assert.rejects(read(theirs), /more than 33554432 bytes that belong to incomplete answers/);
  for (let n = 0; n < 40; n++) assert.equal((await read(others)).body.length, MiB);
});

test("events of a watch count only until their line is complete", async () => {
  const all = new PendingBytes();
  const chunks = Array.from({ length: 100 }, () => [Buffer.alloc(MiB, " "), line("x")]).flat();

  assert.equal(await count(remoteEvents(stream(chunks), all.open(theirs))), 100);
});

test("a line that never ends is refused, also if it comes in tiny chunks", async () => {
  const events = (chunks: Iterable<Uint8Array>) => count(remoteEvents(stream(chunks), new PendingBytes().open(theirs)));
  const tiny = Array.from({ length: 20_000 }, () => Buffer.from("x"));

  await assert.rejects(events(Array.from({ length: 5 }, () => Buffer.alloc(MiB))), /more than 4194304 bytes/);
  await assert.rejects(events(tiny), /more than 10000 chunks/);
});

test("many events in one chunk leave room for other work", async () => {
  let turns = 0;
  const work = (): void => {
    turns++;
    timer = setImmediate(work);
  };
  let timer = setImmediate(work);
  const chunk = Buffer.concat(Array.from({ length: 20_000 }, (_, at) => line(`n${at}`)));

  const found = await count(remoteEvents(stream([chunk]), new PendingBytes().open(theirs)));

  clearImmediate(timer);
  assert.equal(found, 20_000);
  assert(turns >= 10, `${turns} turns`);
});
