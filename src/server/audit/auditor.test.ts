import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { type Duplex } from "node:stream";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { internalError, notFound } from "#api/status.ts";
import { Metrics } from "#lib/process/metrics.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type Wire } from "../http/respond.ts";
import { type Answer, type Context } from "../request/pipeline.ts";
import { blankRequestInfo } from "../request/request-info.ts";
import { Auditor } from "./auditor.ts";
import { type AuditStage } from "./policy.ts";

type Recorded = {
  readonly stage: string;
  readonly responseStatus?: { readonly code: number; readonly message?: string };
};

/** A recorder of one request for a pod's subresource. */
async function begin(subresource: string) {
  const { auditor, context, ...rest } = prepare(subresource);
  await auditor.stage(context, () => answer);
  return { auditor, context, ...rest };
}

function prepare(subresource: string, { isStored = true, omitted = ["RequestReceived"] as AuditStage[] } = {}) {
  const events: Recorded[] = [];
  const backend = {
    name: "test",
    process: ({ rest }: { rest: string }) => events.push(JSON.parse(`{${rest}`) as Recorded) > 0 && isStored,
    async [Symbol.asyncDispose]() {},
  };
  const scope = { level: "Metadata", omitStages: new Set(omitted), omitManagedFields: false } as const;
  const auditor = new Auditor({
    scopeOf: () => scope,
    backends: [backend],
    clock: createVirtualClock(),
    metrics: new Metrics(),
  });
  const left = new AbortController();
  const path = `/api/v1/namespaces/default/pods/web/${subresource}`;
  const context: Context = {
    request: {
      method: "GET",
      path,
      query: "",
      headers: {},
      body: undefined,
      signal: left.signal,
      peer: { address: "" },
    },
    info: { ...blankRequestInfo, isResource: true, verb: "get", version: "v1", resource: "pods", subresource },
    query: new URLSearchParams(),
    trace: { traceId: "t", spanId: "s" },
    user: { name: "alice", groups: [] },
    warnings: [],
    annotations: new Map(),
    steps: { mark() {} },
  };
  const stages = () => events.map(({ stage, responseStatus }) => `${stage} ${responseStatus?.code}`);
  return { auditor, context, events, stages, left };
}

const answer: Answer = { type: "value", status: 200, value: {} };
async function* lines(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("one\n");
  yield Buffer.from("two\n");
}

test("a stream is recorded when it begins and when it ends", async () => {
  const { auditor, context, stages } = await begin("log");
  const wire = { type: "stream", status: 200, contentType: "text/plain", body: lines() } as const;

  const served = await auditor.serve(context, answer, wire);
  assert.deepEqual(stages(), ["ResponseStarted 200"]);
  assert(served.type === "stream");
  for await (const _ of served.body);

  assert.deepEqual(stages(), ["ResponseStarted 200", "ResponseComplete 200"]);
});

test("a connection that is handed over is recorded until it closes", async () => {
  const { auditor, context, stages } = await begin("exec");
  const socket = new EventEmitter() as unknown as Duplex;
  let isAccepted = false;
  const accept = () => {
    isAccepted = true;
  };

  const served = await auditor.serve(context, answer, { type: "upgrade", accept });
  assert(served.type === "upgrade");
  served.accept({ socket, head: new Uint8Array() });
  assert.deepEqual(stages(), ["ResponseStarted 101"]);
  socket.emit("close");

  assert(isAccepted);
  assert.deepEqual(stages(), ["ResponseStarted 101", "ResponseComplete 101"]);
});

test("a client that leaves before its response ends the record", async () => {
  const { auditor, context, stages, left } = await begin("log");
  const wire: Wire = { type: "watch", contentType: "application/json", start: () => () => {} };

  const served = await auditor.serve(context, answer, wire);
  left.abort();
  assert(served.type === "watch");
  served.start({ write() {}, load: "idle", onIdle() {}, end() {} })();

  assert.deepEqual(stages(), ["ResponseStarted 200", "ResponseComplete 200"]);
});

test("an error of the server itself is recorded as a panic, and a refusal is not", async () => {
  const broken = await begin("status");
  const refused = await begin("status");

  await broken.auditor.fail(broken.context, internalError(new TypeError("x is undefined")), true);
  await refused.auditor.fail(refused.context, notFound(ConfigMap, "a"), false);

  assert.deepEqual(broken.stages(), ["Panic 500"]);
  assert.equal(broken.events[0]?.responseStatus?.message, "APIServer panic'd: x is undefined");
  assert.deepEqual(refused.stages(), ["ResponseComplete 404"]);
});

test("a request that is refused because its event is lost has no other event", async () => {
  const { auditor, context, stages } = prepare("status", { isStored: false, omitted: [] });
  const refusal = { code: 500, message: "Internal error occurred: failed to store audit event" };

  await assert.rejects(async () => await auditor.stage(context, () => answer), refusal);
  await auditor.fail(context, internalError(new Error("failed to store audit event")), false);

  assert.deepEqual(stages(), ["RequestReceived undefined"]);
});
