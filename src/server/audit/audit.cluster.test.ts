import assert from "node:assert/strict";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { type UserInfo } from "#api/exchange.ts";
import { assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { openMemoryStore } from "#store/memory.ts";
import { ask, follow } from "#testing/peers/ask.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { parseConfig } from "../config/config-file.ts";
import { Auditor } from "./auditor.ts";
import { auditPolicy, scopesOf } from "./policy.ts";

interface Recorded {
  readonly level: string;
  readonly auditID: string;
  readonly stage: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: { readonly username?: string; readonly groups?: readonly string[] };
  readonly impersonatedUser?: { readonly username: string; readonly groups: readonly string[] };
  readonly sourceIPs: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: Readonly<Record<string, string>>;
  readonly responseStatus?: { readonly code: number; readonly message?: string; readonly reason?: string };
  readonly requestObject?: {
    readonly kind: string;
    readonly data?: object;
    readonly metadata?: Readonly<Record<string, unknown>>;
  };
  readonly responseObject?: {
    readonly kind: string;
    readonly metadata?: Readonly<Record<string, unknown>>;
    readonly items?: object[];
  };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A server whose requests are recorded as the rules say, except those of its own start. */
async function startAudited(rules: object[], more: { isStored?: boolean; omitManagedFields?: boolean } = {}) {
  const { isStored = true, ...rest } = more;
  const clock = createVirtualClock();
  const policy = await parseConfig(
    auditPolicy,
    JSON.stringify({ kind: "Policy", apiVersion: "audit.k8s.io/v1", rules, ...rest }),
    "policy",
  );
  const events: Recorded[] = [];
  const lines: string[] = [];
  const state = { isStored: true };
  const backend = {
    name: "test",
    process: ({ rest: text, legacy }: { rest: string; legacy(): string }) => {
      events.push(JSON.parse(`{${text}`) as Recorded);
      lines.push(`{${text}`, legacy());
      return state.isStored;
    },
    async [Symbol.asyncDispose]() {},
  };
  const store = openMemoryStore({ clock });
  const parts = { store, clock, log: silentLog, random: seededRandom(1), resources: allResources };
  const api = await assembleApiServer({
    ...parts,
    signingKey: signingKey(keyToPem(createKey())),
    serverAddress: "127.0.0.1:6443",
    audit: (metrics) => new Auditor({ scopeOf: scopesOf(policy), backends: [backend], clock, metrics }),
  });
  await bootstrapCluster(api.loopback);
  events.length = 0;
  lines.length = 0;
  state.isStored = isStored;
  return {
    api,
    events,
    lines,
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

const path = "/api/v1/namespaces/default/configmaps";
const bodyOf = (name: string) => ({ metadata: { name }, data: { key: "value" } });
const merge = { "content-type": "application/merge-patch+json" };

test("an event at level Metadata has upstream's fields in upstream's order, and no body", async () => {
  await using server = await startAudited([{ level: "Metadata", resources: [{ resources: ["configmaps"] }] }]);
  const headers = { "user-agent": "kubectl/v1", "audit-id": "mine", "x-forwarded-for": "10.1.2.3, junk" };

  const said = await ask(server.api.server, `POST ${path}?dryRun=All`, { body: bodyOf("a"), headers });

  assert.equal(said.headers["audit-id"], "mine");
  assert.deepEqual(
    server.events.map(({ stage }) => stage),
    ["RequestReceived", "ResponseComplete"],
  );
  const last = server.events[1];
  assert.deepEqual(Object.keys(last ?? {}), [
    ...["level", "auditID", "stage", "requestURI", "verb", "user", "sourceIPs", "userAgent", "objectRef"],
    ...["responseStatus", "requestReceivedTimestamp", "stageTimestamp", "annotations"],
  ]);
  assert.equal(last?.auditID, "mine");
  assert.equal(last?.requestURI, `${path}?dryRun=All`);
  assert.deepEqual(last?.user, { username: "admin", groups: ["system:masters", "system:authenticated"] });
  assert.deepEqual(last?.sourceIPs, ["10.1.2.3", "127.0.0.1"]);
  assert.deepEqual(last?.objectRef, { resource: "configmaps", namespace: "default", name: "a", apiVersion: "v1" });
  assert.deepEqual(last?.responseStatus, { metadata: {}, code: 201 });
  assert.equal(last?.annotations?.["authorization.k8s.io/decision"], "allow");
  assert.match(server.lines[0] ?? "", /"requestReceivedTimestamp":"[0-9-]+T[0-9:]+\.\d{6}Z"/);
  assert.match(
    server.lines[3] ?? "",
    / AUDIT: id="mine" stage="ResponseComplete" ip="10.1.2.3" method="create" user="admin" /,
  );
});

test("bodies are recorded at the levels that ask for them, without managed fields if the policy says so", async () => {
  await using server = await startAudited(
    [
      { level: "RequestResponse", verbs: ["create", "list"], resources: [{ resources: ["configmaps"] }] },
      { level: "Request", verbs: ["patch", "delete"], resources: [{ resources: ["configmaps"] }] },
    ],
    { omitManagedFields: true },
  );
  const accept = { accept: "application/vnd.kubernetes.protobuf" };

  await ask(server.api.server, `POST ${path}?fieldManager=me`, { body: bodyOf("a"), headers: accept });
  await ask(server.api.server, `PATCH ${path}/a`, { body: { data: { more: "1" } }, headers: merge });
  await ask(server.api.server, `GET ${path}?limit=1`);
  await ask(server.api.server, `DELETE ${path}/a`, { body: { kind: "DeleteOptions", gracePeriodSeconds: 0 } });

  const done = server.events.filter(({ stage }) => stage === "ResponseComplete");
  const [created, patched, listed, deleted] = done;
  assert.deepEqual([created?.requestObject?.kind, created?.requestObject?.data], ["ConfigMap", { key: "value" }]);
  assert.equal(created?.responseObject?.kind, "ConfigMap");
  assert(created?.responseObject?.metadata?.uid);
  assert.equal(created?.responseObject?.metadata?.managedFields, undefined);
  assert.deepEqual(patched?.requestObject, { data: { more: "1" } });
  assert.equal(patched?.responseObject, undefined);
  assert.equal(listed?.responseObject?.kind, "ConfigMapList");
  assert.equal(listed?.responseObject?.items?.length, 1);
  assert.equal(deleted?.requestObject?.kind, "DeleteOptions");
  assert.equal(deleted?.responseStatus?.code, 200);
});

test("refused requests are recorded: unauthenticated, forbidden, and with a fault", async () => {
  await using server = await startAudited([{ level: "Metadata" }]);
  const { server: api } = server.api;
  const nobody = { name: "mallory", groups: [] };

  await ask(api, `GET ${path}`, { user: nobody });
  await ask(api, `GET ${path}/missing`);
  const { wire } = await api.serve({
    ...{ method: "GET", path, query: "", headers: { authorization: "Bearer wrong" }, body: undefined },
    ...{ signal: new AbortController().signal, peer: { address: "10.0.0.9" } },
  });

  const [, forbidden, , missing, unknown] = server.events;
  assert.equal(wire.type === "body" && wire.status, 401);
  assert.deepEqual([forbidden?.responseStatus?.code, forbidden?.responseStatus?.reason], [403, "Forbidden"]);
  assert.equal(forbidden?.annotations?.["authorization.k8s.io/decision"], "forbid");
  assert.match(missing?.responseStatus?.message ?? "", /configmaps "missing" not found/);
  assert.deepEqual([unknown?.stage, unknown?.responseStatus?.code], ["ResponseStarted", 401]);
  assert.deepEqual([unknown?.user, unknown?.sourceIPs], [{}, ["10.0.0.9"]]);
});

test("an impersonated request names both users", async () => {
  await using server = await startAudited([{ level: "Metadata" }]);

  await ask(server.api.server, `GET ${path}`, { headers: { "impersonate-user": "jane" } });

  const last = server.events.at(-1);
  assert.equal(last?.user.username, "admin");
  assert.deepEqual(last?.impersonatedUser, { username: "jane", groups: ["system:authenticated"] });
});

test("a watch is recorded when it begins and when it ends", async () => {
  await using server = await startAudited([{ level: "Metadata", verbs: ["watch"], omitStages: ["RequestReceived"] }]);

  const watch = await follow(server.api.server, `GET ${path}?watch=1`);
  assert.deepEqual(
    server.events.map(({ stage, responseStatus }) => [stage, responseStatus?.code]),
    [["ResponseStarted", 200]],
  );
  watch.stop();
  watch.stop();

  assert.deepEqual(
    server.events.map(({ stage }) => stage),
    ["ResponseStarted", "ResponseComplete"],
  );
});

test("components in the server's process are recorded too", async () => {
  await using server = await startAudited([{ level: "RequestResponse", resources: [{ resources: ["configmaps"] }] }]);
  const controller: UserInfo = { name: "system:kube-controller-manager", groups: ["system:masters"] };

  await server.api
    .clientFor(controller)
    .create(ConfigMap, { ...bodyOf("a"), metadata: { name: "a", namespace: "default" } });

  const last = server.events.at(-1);
  assert.equal(last?.user.username, "system:kube-controller-manager");
  assert.equal(last?.responseObject?.kind, "ConfigMap");
});

test("a request fails if its event must be stored and is not", async () => {
  await using server = await startAudited([{ level: "Metadata" }], { isStored: false });

  const said = await ask(server.api.server, `POST ${path}`, { body: bodyOf("a") });

  assert.equal(said.status, 500);
  assert.match(String(said.json.message), /failed to store audit event/);
  assert.match(server.api.metrics.render(), /apiserver_audit_requests_rejected_total 1/);
});

test("requests at level None are not recorded, and counted", async () => {
  await using server = await startAudited([{ level: "None" }]);

  await ask(server.api.server, `GET ${path}`);

  assert.deepEqual(server.events, []);
  assert.match(server.api.metrics.render(), /apiserver_audit_level_total\{level="None"\} [1-9]/);
});

test("text that a caller controls cannot add a line or a member to an event", async () => {
  await using server = await startAudited([{ level: "Request" }]);
  const headers = { "user-agent": `x"\n{"kind":"Event"}${"y".repeat(5000)}`, "audit-id": "z".repeat(5000) };

  await ask(server.api.server, `PATCH ${path}/a?x=%22%0a"\n`, {
    body: ['"}\n{"level":"None"}'],
    headers: { ...headers, ...merge },
  });

  assert(server.lines.every((line) => !line.includes("\n") && line.length < 8000));
  assert(server.events.every(({ level, auditID }) => level === "Request" && auditID.length < 64));
});
