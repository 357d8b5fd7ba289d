import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CustomResourceDefinition } from "#api/apiextensions/custom-resource-definition.ts";
import { APIService } from "#api/apiregistration/api-service.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { type Client } from "#client/client.ts";
import { httpClient } from "#client/transport/http.ts";
import { type ControlPlane, startControlPlane } from "#cluster/control-plane.ts";
import { systemClock } from "#lib/async/clock.ts";
import { systemRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { issueClientCertificate } from "#server/http/tls.ts";
import { startCluster } from "#testing/start-cluster.ts";
import {
  flunders,
  group,
  podIp,
  register,
  resourceList,
  type Serve,
  startExtension,
  untilReason,
  wellDescribed,
} from "./aggregation.suite.ts";
import { registerOwnApis } from "./register-own-apis.ts";

const administrator = { name: "admin", groups: ["system:masters", "system:authenticated"] };

/** Two control planes: requests of the first for a group go to the second. */
async function startTwo() {
  const dir = await mkdtemp(join(tmpdir(), "aggregation-"));
  const base = { clock: systemClock, log: silentLog, random: systemRandom, store: "memory", port: 0 } as const;
  const front = await startControlPlane({ ...base, host: "127.0.0.1", dataDir: join(dir, "front") });
  const caFile = join(dir, "front-proxy-ca.crt");
  await writeFile(caFile, front.certificates.pki.frontProxyAuthority.certificate);
  const frontProxy = {
    caFile,
    usernameHeaders: ["X-Remote-User"],
    uidHeaders: ["X-Remote-Uid"],
    groupHeaders: ["X-Remote-Group"],
    extraPrefixes: ["X-Remote-Extra-"],
    allowedNames: ["front-proxy-client"],
  };
  const own = { host: podIp, dataDir: join(dir, "back"), hosts: ["extension.default.svc"] };
  const back = await startControlPlane({ ...base, ...own, security: { frontProxy } });
  return {
    front,
    back,
    async [Symbol.asyncDispose]() {
      await front[Symbol.asyncDispose]();
      await back[Symbol.asyncDispose]();
      await rm(dir, { recursive: true });
    },
  };
}

function clientOf({ certificates: { pki }, url }: ControlPlane, commonName: string, ...organizations: string[]) {
  const { certificate: cert, key } = issueClientCertificate(pki, systemClock, { commonName, organizations });
  const tls = { ca: pki.authority.certificate, cert, key };
  return httpClient({ server: url, tls }, { clock: systemClock, log: silentLog });
}

const definition = {
  metadata: { name: `flunders.${group}` },
  spec: {
    group,
    scope: "Namespaced" as const,
    names: { plural: "flunders", kind: "Flunder" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" as const } } }],
  },
};

async function bodyOf(sending: ReturnType<Client["raw"]>) {
  const { status, body } = await sending;
  return { status, body: JSON.parse(Buffer.from(body).toString()) };
}
const json = { "content-type": "application/json" };
const flunder = (name: string) =>
  Buffer.from(JSON.stringify({ apiVersion: `${group}/v1`, kind: "Flunder", metadata: { name } }));

test("requests for a group go to the server of its APIService, as the caller", { skip: podIp === "" }, async () => {
  await using planes = await startTwo();
  const [front, back] = [planes.front.clientFor(administrator), planes.back.clientFor(administrator)];
  await back.create(CustomResourceDefinition, definition);
  const caBundle = Buffer.from(planes.back.certificates.pki.authority.certificate).toString("base64");
  await register(front, planes.back.port, { caBundle });
  assert.equal(await untilReason(front, "Passed"), "all checks passed");
  await using admin = clientOf(planes.front, "admin", "system:masters");
  await using jane = clientOf(planes.front, "jane", "dev");

  const created = await bodyOf(admin.raw("POST", flunders, { headers: json, body: flunder("a") }));
  const watching = await admin.stream("GET", `${flunders}?watch=true&resourceVersion=0`, {});
  const { value: event } = await watching.body[Symbol.asyncIterator]().next();
  const there = await bodyOf(back.raw("GET", flunders));
  const rules = [{ verbs: ["*"], apiGroups: [group], resources: ["*"] }];
  await front.create(ClusterRole, { metadata: { name: "wardle" }, rules });
  const forged = { ...json, "x-remote-user": "admin", "x-remote-group": "system:masters" };
  const stranger = await bodyOf(jane.raw("GET", flunders, { headers: forged }));
  await front.create(ClusterRoleBinding, {
    metadata: { name: "wardle" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "wardle" },
    subjects: [{ kind: "User", name: "jane", apiGroup: "rbac.authorization.k8s.io" }],
  });
  const known = await bodyOf(jane.raw("GET", flunders, { headers: forged }));

  assert.equal(created.status, 201);
  assert.match(Buffer.from(event).toString(), /"ADDED".*"name":"a"/);
  assert.deepEqual(
    there.body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
    ["a"],
  );
  assert.match(stranger.body.message, /User "jane" cannot list resource "flunders"/);
  // Allowed here, but not there: the other server knows who asks.
  assert.match(known.body.message, /User "jane" cannot list resource "flunders"/);
  await back.create(ClusterRole, { metadata: { name: "wardle" }, rules });
  await back.create(ClusterRoleBinding, {
    metadata: { name: "wardle" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "wardle" },
    subjects: [{ kind: "Group", name: "dev", apiGroup: "rbac.authorization.k8s.io" }],
  });
  assert.equal((await bodyOf(jane.raw("GET", flunders, { headers: forged }))).status, 200);
});

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

interface Found {
  readonly metadata: { readonly name: string };
  readonly versions: readonly {
    readonly freshness: string;
    readonly resources?: readonly { readonly resource: string }[];
  }[];
}

test("discovery shows groups of other servers, and marks those that do not answer", {
  skip: podIp === "",
}, async () => {
  let isDead = false;
  await using extension = await startExtension(
    (_request, response) => void response.end("{}"),
    (request, response) => (isDead ? void response.destroy() : wellDescribed(request, response)),
  );
  await using cluster = await startCluster({ controllers: false, clock: "system" });
  const { client } = cluster;
  await register(client, extension.port, { groupPriorityMinimum: 19000 });
  const groups = async (): Promise<Found[]> =>
    (await bodyOf(client.raw("GET", "/apis", { headers: { accept: aggregatedType } }))).body.items;
  const own = async () => (await groups()).find(({ metadata }) => metadata.name === group)?.versions[0];
  const until = async (freshness: string) => {
    while ((await own())?.freshness !== freshness) await systemClock.sleep(20);
    return await own();
  };

  const current = await until("Current");
  const plain = (await bodyOf(client.raw("GET", "/apis"))).body.groups as { name: string }[];
  const { body: ofGroup } = await bodyOf(client.raw("GET", `/apis/${group}`));
  const { body: ofVersion } = await bodyOf(client.raw("GET", `/apis/${group}/v1`));
  const { body: index } = await bodyOf(client.raw("GET", "/openapi/v3"));
  const { body: openApi } = await bodyOf(client.raw("GET", `/openapi/v3/apis/${group}/v1`));
  const { body: merged } = await bodyOf(client.raw("GET", "/openapi/v2"));
  isDead = true;
  await client.patch(
    APIService,
    { name: `v1.${group}` },
    { type: "merge", body: { metadata: { labels: { a: "b" } } } },
  );
  const stale = await until("Stale");

  assert.deepEqual(
    current?.resources?.map(({ resource }) => resource),
    ["flunders"],
  );
  assert.deepEqual(
    plain.slice(0, 3).map(({ name }) => name),
    ["apiregistration.k8s.io", group, "apps"],
  );
  assert.deepEqual(ofGroup.preferredVersion, { groupVersion: `${group}/v1`, version: "v1" });
  assert.deepEqual(ofVersion, resourceList);
  assert.deepEqual(index.paths[`apis/${group}/v1`], {
    serverRelativeURL: `/openapi/v3/apis/${group}/v1?hash=AB`,
  });
  assert.deepEqual(openApi, { openapi: "3.0.0" });
  assert.deepEqual(Object.keys(merged.paths[`/apis/${group}/v1/flunders`]), ["get"]);
  assert.notEqual(merged.paths["/api/v1/pods"].get.description, "theirs");
  assert.deepEqual(merged.definitions["wardle.Flunder"]["x-kubernetes-group-version-kind"], [
    { group, version: "v1", kind: "Flunder" },
  ]);
  assert.deepEqual(merged.definitions["wardle.Flunder"].properties.metadata, {
    $ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta_v2",
  });
  const { body: after } = await bodyOf(client.raw("GET", "/openapi/v2"));
  assert.equal(after.definitions["wardle.Flunder"], undefined, "a server that does not answer is not described");
  assert.deepEqual(stale, { version: "v1", freshness: "Stale" });
  assert.equal((await bodyOf(client.raw("GET", "/apis/apps/v1"))).status, 200);
  await client.delete(APIService, { name: `v1.${group}` });
  while (await own()) await systemClock.sleep(20);
});

test("an APIService takes a group over from a custom resource, and gives it back", { skip: podIp === "" }, async () => {
  await using extension = await startExtension((_request, response) => void response.end('{"kind":"Theirs"}'));
  await using cluster = await startCluster({ controllers: false, clock: "system" });
  const { client } = cluster;
  await client.create(CustomResourceDefinition, definition);
  const kindOf = async (): Promise<string> => (await bodyOf(client.raw("GET", flunders))).body.kind;
  while ((await kindOf()) !== "FlunderList") await systemClock.sleep(20);
  await register(client, extension.port);
  await untilReason(client, "Passed");
  const theirs = await kindOf();
  await client.delete(APIService, { name: `v1.${group}` });
  while ((await kindOf()) === "Theirs") await systemClock.sleep(20);

  assert.equal(theirs, "Theirs");
  assert.equal(await kindOf(), "FlunderList");
});

test("every group and version that is served has an APIService, also those of custom resources", async () => {
  await using cluster = await startCluster({ controllers: false, clock: "system" });
  const { client, api, informers, clock } = cluster;
  const registered = Promise.withResolvers<void>();
  const stop = new AbortController();
  const deps = { client: api.loopback, informers, resources: api.resources, clock, log: silentLog };
  const running = registerOwnApis({ ...deps, registered: registered.resolve }, stop.signal).catch(() => undefined);
  const has = (name: string) => informers.of(APIService).get({ name }) !== undefined;
  const until = async (holds: () => boolean) => {
    while (!holds()) await systemClock.sleep(10);
  };
  await registered.promise;
  const atStart = informers.of(APIService).list();
  await client.delete(APIService, { name: "v1.apps" });
  await client.create(CustomResourceDefinition, definition);
  await until(() => has(`v1.${group}`));
  await client.delete(APIService, { name: `v1.${group}` });
  await until(() => has(`v1.${group}`));
  const { status } = await client.get(APIService, { name: `v1.${group}` });
  await client.delete(CustomResourceDefinition, { name: definition.metadata.name });
  await until(() => !has(`v1.${group}`));
  stop.abort();
  await running;

  const served = new Set(api.resources.builtIn.map(({ group: of, version }) => `${version}.${of}`));
  served.delete("v1.apiregistration.k8s.io");
  served.delete("v1beta1.metrics.k8s.io");
  assert.deepEqual(new Set(atStart.map(({ metadata }) => metadata.name)), served);
  assert.equal(has("v1.apps"), false, "a built-in one comes back when a server starts");
  assert.equal(status.conditions?.[0]?.reason, "Local");
});

test("a namespace goes with its objects on other servers, and waits for servers that do not answer", {
  skip: podIp === "",
}, async () => {
  const stored = new Set(["a", "b"]);
  let isDead = false;
  const serve: Serve = ({ method, url = "" }, response) => {
    if (method === "DELETE") stored.clear();
    const items = Array.from(stored, (name) => ({ metadata: { name, namespace: "shop" } }));
    if (url.includes("watch=true")) return void response.writeHead(400).end("no");
    response.end(JSON.stringify({ kind: "FlunderList", metadata: { resourceVersion: "1" }, items }));
  };
  await using extension = await startExtension(serve, (request, response) =>
    isDead ? void response.destroy() : wellDescribed(request, response),
  );
  await using cluster = await startCluster({ clock: "system" });
  const { client, api } = cluster;
  await client.create(Namespace, { metadata: { name: "shop" } });
  await client.create(Namespace, { metadata: { name: "stuck" } });
  await register(client, extension.port);
  while (api.remote.all().length === 0) await systemClock.sleep(20);

  await client.delete(Namespace, { name: "shop" });
  while (cluster.informers.of(Namespace).get({ name: "shop" })) await systemClock.sleep(20);
  isDead = true;
  await client.patch(
    APIService,
    { name: `v1.${group}` },
    { type: "merge", body: { metadata: { labels: { a: "b" } } } },
  );
  while (api.remote.undescribed().length === 0) await systemClock.sleep(20);
  await client.delete(Namespace, { name: "stuck" });
  const failed = () => {
    const { conditions } = cluster.informers.of(Namespace).get({ name: "stuck" })?.status ?? {};
    return conditions?.find(({ type }) => type === "NamespaceDeletionDiscoveryFailure");
  };
  while (!failed()) await systemClock.sleep(20);

  assert.equal(stored.size, 0);
  assert.deepEqual([failed()?.status, failed()?.reason], ["True", "DiscoveryFailed"]);
  assert.equal(
    failed()?.message,
    `Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: ${group}/v1: stale GroupVersion discovery: ${group}/v1`,
  );
  await client.delete(APIService, { name: `v1.${group}` });
  while (cluster.informers.of(Namespace).get({ name: "stuck" })) await systemClock.sleep(20);
});

test("the garbage collector deletes objects on other servers whose owners are gone", {
  skip: podIp === "",
}, async () => {
  const watching = Promise.withResolvers<ServerResponse>();
  const deleted = Promise.withResolvers<string>();
  const serve: Serve = ({ method, url = "" }, response) => {
    if (method === "DELETE") deleted.resolve(url);
    if (url.includes("sendInitialEvents")) return void response.writeHead(422).end("{}");
    if (url.includes("watch=true")) {
      response.flushHeaders();
      return watching.resolve(response);
    }
    const name = /flunders\/(\w+)/.exec(url)?.[1];
    const object = { apiVersion: `${group}/v1`, kind: "Flunder", metadata: { ...dependent, name } };
    response.end(
      JSON.stringify(name ? object : { kind: "FlunderList", metadata: { resourceVersion: "1" }, items: [] }),
    );
  };
  await using extension = await startExtension(serve);
  await using cluster = await startCluster({ clock: "system" });
  const { client } = cluster;
  await register(client, extension.port);
  const owner = await client.create(ConfigMap, { metadata: { name: "owner", namespace: "default" } });
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid ?? "" }];
  const dependent = { name: "a", namespace: "default", uid: "u", resourceVersion: "2", ownerReferences };
  const stream = await watching.promise;
  const object = { apiVersion: `${group}/v1`, kind: "Flunder", metadata: dependent };
  stream.write(`${JSON.stringify({ type: "ADDED", object })}\n`);

  await client.delete(ConfigMap, { namespace: "default", name: "owner" });

  assert.equal(await deleted.promise, `${flunders}/a`);
});
