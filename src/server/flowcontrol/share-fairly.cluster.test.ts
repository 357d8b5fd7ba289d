import assert from "node:assert/strict";
import { test } from "node:test";
import { type ApiRequest } from "#api/exchange.ts";
import { FlowSchema } from "#api/flowcontrol/flow-schema.ts";
import { PriorityLevelConfiguration } from "#api/flowcontrol/priority-level-configuration.ts";
import { assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { type TokenAuthenticator } from "#server/authenticate/bearer.ts";
import { openMemoryStore } from "#store/memory.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { defaultInFlight } from "./assemble.ts";
import { ensureFlows } from "./bootstrap/ensure-flows.ts";
import { runFlowControl } from "./run-flow-control.ts";

/** A token is the name of its user. */
const tokens: TokenAuthenticator = {
  name: "names",
  authenticateToken: (token) => ({ user: { name: token, groups: token === "root" ? ["system:masters"] : [] } }),
};

async function start(inFlight = defaultInFlight) {
  const clock = createVirtualClock();
  const store = openMemoryStore({ clock });
  const api = await assembleApiServer({
    store,
    clock,
    log: silentLog,
    random: seededRandom(1),
    signingKey: signingKey(keyToPem(createKey())),
    serverAddress: "127.0.0.1:6443",
    tokens: [tokens],
    inFlight,
  });
  await bootstrapCluster(api.loopback);
  await ensureFlows(api.loopback);
  /** The answer over a socket; `arriving` is the body of a slow sender. */
  const ask = async (user: string, path: string, more: Partial<ApiRequest> & { arriving?: Promise<void> } = {}) => {
    const { arriving, ...rest } = more;
    const [base = "", query = ""] = path.split("?");
    const { wire, headers } = await api.server.serve({
      method: "GET",
      path: base,
      query,
      headers: { authorization: `Bearer ${user}` },
      body: undefined,
      signal: neverAborted,
      peer: { address: "10.0.0.1" },
      ...(arriving ? { admit: () => arriving } : {}),
      ...rest,
    });
    assert(wire.type === "body");
    return {
      status: wire.status,
      text: Buffer.concat(wire.chunks).toString(),
      headers: { ...headers, ...wire.headers },
    };
  };
  const levelOf = (name: string) => {
    const level = api.flowControl?.levels.get(name);
    assert(level);
    return level;
  };
  return {
    ...{ api, clock, ask, levelOf },
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

const review = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const post = { method: "POST", body: Buffer.from("{}") };

test("a response names its FlowSchema and priority level, also if the request is refused", async () => {
  await using server = await start();
  const schema = await server.api.loopback.get(FlowSchema, { name: "global-default" });
  const level = await server.api.loopback.get(PriorityLevelConfiguration, { name: "global-default" });

  for (const path of ["/api/v1/secrets", "/version"]) {
    const { headers } = await server.ask("jane", path);
    assert.equal(headers["x-kubernetes-pf-flowschema-uid"], schema.metadata.uid);
    assert.equal(headers["x-kubernetes-pf-prioritylevel-uid"], level.metadata.uid);
  }
});

test("beyond seats and queues, a request gets 429 with Retry-After as plain text; others do not", async () => {
  await using server = await start({ ...defaultInFlight, reads: 5, writes: 5 });
  const arriving = Promise.withResolvers<void>();
  const { set } = server.levelOf("global-default");
  assert.equal(set.limit, 1);

  const held = Array.from({ length: 400 }, () => server.ask("jane", review, { ...post, arriving: arriving.promise }));
  await server.clock.settle();
  const refused = await server.ask("jane", review, post);

  assert.equal(refused.status, 429);
  assert.equal(refused.text, "Too many requests, please try again later.\n");
  assert.match(String(refused.headers["retry-after"]), /^[12]$/);
  assert.equal(refused.headers["x-content-type-options"], "nosniff");
  assert.equal((await server.ask("root", "/api/v1/pods")).status, 200, "administrators are exempt");
  assert.equal((await server.ask("jane", "/livez")).status, 200, "health is exempt");
  arriving.resolve();
  const statuses = await Promise.all(held);
  assert.equal(statuses.filter(({ status }) => status === 201).length, 301, "one seat and six queues of 50");
  assert.equal(set.isIdle && set.seatsInUse === 0, true);
});

test("a slow sender gives up its seats and gets them again with its body", async () => {
  await using server = await start({ ...defaultInFlight, reads: 5, writes: 5 });
  const arriving = Promise.withResolvers<void>();
  const { set } = server.levelOf("global-default");
  const slow = server.ask("mallory", review, { ...post, arriving: arriving.promise });
  const quick = server.ask("jane", review, post);
  await server.clock.settle();
  assert.deepEqual([set.executing, set.waiting], [1, 1]);

  await server.clock.advance(100);
  assert.equal((await quick).status, 201);
  assert.equal(set.seatsInUse, 0);
  arriving.resolve();
  assert.equal((await slow).status, 201);
  assert.equal(set.seatsInUse, 0);
});

test("a request waits a quarter of its time for seats, and leaves if its client does", async () => {
  await using server = await start({ ...defaultInFlight, reads: 5, writes: 5, requestTimeoutMs: 60_000 });
  const { set } = server.levelOf("global-default");
  const never = new Promise<void>(() => {});
  for (let n = 0; n < 50; n++) void server.ask("jane", "/version", { admit: () => never });
  const gone = new AbortController();
  const left = server.ask("zoe", "/version", { signal: gone.signal });
  const hurried = server.ask("zoe", "/version?timeout=200ms");
  await server.clock.settle();
  assert.equal(set.waiting, 51);

  await server.clock.advance(50);
  assert.equal((await hurried).status, 429);
  gone.abort();
  assert.equal((await left).status, 400);
  assert.equal(set.waiting, 49);
});

test("a request that takes too long gets 504", async () => {
  await using server = await start();
  const slow = server.ask("jane", `${review}?timeout=2s`, { ...post, arriving: new Promise<void>(() => {}) });
  await server.clock.advance(2000);

  const { status, text } = await slow;

  assert.equal(status, 504);
  assert.deepEqual(JSON.parse(text), {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: "Timeout: request did not complete within the allotted timeout",
    reason: "Timeout",
    details: {},
    code: 504,
  });
});

test("a watch holds no seats once it has started, and writes know of it until it ends", async () => {
  await using server = await start();
  const { client } = {
    client: server.api.clientFor({ name: "jane", groups: ["system:authenticated", "system:masters"] }),
  };
  const stop = new AbortController();
  const watching = Array.from({ length: 10 }, async () => {
    for await (const _ of client.watch(FlowSchema, { signal: stop.signal, resourceVersion: "0" }));
  });
  await server.clock.settle();
  const { set } = server.levelOf("exempt");

  assert.equal(set.seatsInUse, 0);
  const spec = { priorityLevelConfiguration: { name: "exempt" } };
  await client.create(FlowSchema, { metadata: { name: "a" }, spec });
  assert.equal(set.seatsInUse, 1, "for the events");
  await server.clock.advance(5);
  assert.equal(set.seatsInUse, 0);
  stop.abort();
  await Promise.all(watching);
  await client.create(FlowSchema, { metadata: { name: "b" }, spec });
  assert.equal(set.seatsInUse, 0);
});

test("without priority and fairness there are two limits, which administrators may exceed", async () => {
  await using server = await start({ ...defaultInFlight, isFair: false, reads: 0, writes: 2 });
  const arriving = Promise.withResolvers<void>();
  const slow = { ...post, arriving: arriving.promise };
  const held = [server.ask("jane", review, slow), server.ask("zoe", review, slow)];
  await server.clock.settle();

  const { status, headers, text } = await server.ask("jane", review, post);
  assert.deepEqual([status, headers["retry-after"], text], [429, "1", "Too many requests, please try again later.\n"]);
  assert.equal(headers["x-kubernetes-pf-flowschema-uid"], undefined);
  assert.equal((await server.ask("root", review, post)).status, 201);
  assert.equal((await server.ask("jane", "/version")).status, 200);
  arriving.resolve();
  assert.deepEqual(
    (await Promise.all(held)).map((answer) => answer.status),
    [201, 201],
  );
  assert.equal((await server.ask("jane", review, post)).status, 201);
});

test("a FlowSchema whose priority level is missing says so, and is not used", async () => {
  await using server = await start();
  const { api, clock } = server;
  const stop = new AbortController();
  const deps = { control: api.flowControl, client: api.loopback, informers: api.informers, clock, log: silentLog };
  const running = runFlowControl(deps, stop.signal);
  const rules = [
    {
      subjects: [{ kind: "User", user: { name: "jane" } }],
      nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    },
  ];
  const spec = { priorityLevelConfiguration: { name: "later" }, matchingPrecedence: 3, rules };
  const { metadata } = await api.loopback.create(FlowSchema, { metadata: { name: "janes" }, spec });
  const danglingOf = async (isDangling: boolean) => {
    const read = async () => (await api.loopback.get(FlowSchema, { name: "janes" })).status;
    let status = await read();
    for (let n = 0; n < 100 && status.conditions?.[0]?.status !== (isDangling ? "True" : "False"); n++) {
      await clock.advance(100);
      status = await read();
    }
    const { uid } = { uid: (await server.ask("jane", "/version")).headers["x-kubernetes-pf-flowschema-uid"] };
    return [status.conditions?.map(({ type, status, reason }) => [type, status, reason]), uid === metadata.uid];
  };

  assert.deepEqual(await danglingOf(true), [[["Dangling", "True", "NotFound"]], false]);
  const limited = { nominalConcurrencyShares: 5, limitResponse: { type: "Reject" } };
  await api.loopback.create(PriorityLevelConfiguration, {
    metadata: { name: "later" },
    spec: { type: "Limited", limited },
  });
  assert.deepEqual(await danglingOf(false), [[["Dangling", "False", "Found"]], true]);
  await api.loopback.delete(PriorityLevelConfiguration, { name: "later" });
  assert.deepEqual(await danglingOf(true), [[["Dangling", "True", "NotFound"]], false]);
  assert.equal(api.flowControl?.levels.has("later"), false);
  stop.abort();
  await running;
});

test("the dumps show what waits and runs, and a user's name cannot forge a row", async () => {
  await using server = await start({ ...defaultInFlight, reads: 5, writes: 5 });
  const never = new Promise<void>(() => {});
  void server.ask("jane", "/version", { admit: () => never });
  void server.ask("eve\nexempt,\tforged", "/version?timeout=9s");
  await server.clock.settle();
  const dump = async (name: string) => {
    const { text } = await server.ask("root", `/debug/api_priority_and_fairness/${name}`);
    return text.split("\n").map((line) => line.split(/,\s+/));
  };

  const levels = await dump("dump_priority_levels");
  assert.deepEqual(levels.find(([name]) => name === "global-default")?.slice(0, 6), [
    "global-default",
    "1",
    "false",
    "false",
    "1",
    "1",
  ]);
  const requests = (await dump("dump_requests?includeRequestDetails=yes")).filter(
    ([name]) => name === "global-default",
  );
  assert.equal(requests.length, 2);
  assert.deepEqual(requests.map((row) => row[10]).sort()[1], "jane");
  const queues = (await dump("dump_queues")).filter(([name]) => name === "global-default");
  assert.equal(
    queues.reduce((sum, row) => sum + Number(row[2]) + Number(row[3]), 0),
    2,
  );
  assert.equal((await server.ask("root", "/debug/api_priority_and_fairness/other")).status, 404);
});
