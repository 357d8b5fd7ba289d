import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import https from "node:https";
import { after, before, test } from "node:test";
import {
  ApiException,
  AppsV1Api,
  AuthorizationV1Api,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  RbacAuthorizationV1Api,
  setHeaderOptions,
  type V1ConfigMap,
  VersionApi,
  Watch,
} from "@kubernetes/client-node";
import { credentialsOf, deadline, makeTempDir, type RunningServer, startServer } from "./support/server.ts";

let server: RunningServer;
let config: KubeConfig;
let core: CoreV1Api;
before(async () => {
  server = await startServer();
  config = configOf(server);
  core = config.makeApiClient(CoreV1Api);
});
after(() => server[Symbol.asyncDispose]());

function configOf({ kubeconfig }: RunningServer): KubeConfig {
  const loaded = new KubeConfig();
  loaded.loadFromFile(kubeconfig);
  return loaded;
}

let namespaces = 0;
async function newNamespace(): Promise<string> {
  const name = `node-client-${++namespaces}`;
  await core.createNamespace({ body: { metadata: { name } } });
  return name;
}

const configMap = (
  name: string,
  data: Record<string, string> = {},
  labels: Record<string, string> = {},
): V1ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, labels },
  data,
});

async function codeOf(promise: Promise<unknown>): Promise<{ code: number; reason: string }> {
  try {
    await promise;
  } catch (error) {
    assert(error instanceof ApiException, String(error));
    const { reason } = JSON.parse(String(error.body)) as { reason: string };
    return { code: error.code, reason };
  }
  throw new Error("the call did not fail");
}

test("create, read, replace, list and delete", async () => {
  const namespace = await newNamespace();

  const created = await core.createNamespacedConfigMap({ namespace, body: configMap("settings", { color: "blue" }) });
  const read = await core.readNamespacedConfigMap({ namespace, name: "settings" });
  const replaced = await core.replaceNamespacedConfigMap({
    namespace,
    name: "settings",
    body: { ...read, data: { color: "red" } },
  });
  const stale = await codeOf(core.replaceNamespacedConfigMap({ namespace, name: "settings", body: read }));
  const twice = await codeOf(core.createNamespacedConfigMap({ namespace, body: configMap("settings") }));
  const deleted = await core.deleteNamespacedConfigMap({ namespace, name: "settings" });
  const gone = await codeOf(core.readNamespacedConfigMap({ namespace, name: "settings" }));

  assert.deepEqual(read, created);
  assert(created.metadata?.creationTimestamp instanceof Date);
  assert.deepEqual(replaced.data, { color: "red" });
  assert.deepEqual(stale, { code: 409, reason: "Conflict" });
  assert.deepEqual(twice, { code: 409, reason: "AlreadyExists" });
  assert.equal(deleted.status, "Success");
  assert.deepEqual(gone, { code: 404, reason: "NotFound" });
});

test("deployments, scale and status, with one API for all kinds", async () => {
  const namespace = await newNamespace();
  const apps = config.makeApiClient(AppsV1Api);
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "nginx" }] } };
  const body = { metadata: { name: "web" }, spec: { replicas: 2, selector: { matchLabels: labels }, template } };

  const made = await apps.createNamespacedDeployment({ namespace, body });
  const scale = await apps.readNamespacedDeploymentScale({ namespace, name: "web" });
  // Without a resourceVersion, because the controller writes the status at the same time.
  const wanted = { metadata: { name: "web", namespace }, spec: { replicas: 4 } };
  await apps.replaceNamespacedDeploymentScale({ namespace, name: "web", body: wanted });
  const objects = KubernetesObjectApi.makeApiClient(config);
  const read = await objects.read({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace } });

  assert.equal(made.spec?.strategy?.type, "RollingUpdate");
  assert.equal(scale.status?.selector, "app=web");
  assert.equal((read as { spec?: { replicas?: number } }).spec?.replicas, 4);
  const version = await config.makeApiClient(VersionApi).getCode();
  assert.equal(`${version.major}.${version.minor}`, "1.36");
  const roles = await config.makeApiClient(RbacAuthorizationV1Api).listClusterRole();
  assert(roles.items.some(({ metadata }) => metadata?.name === "cluster-admin"));
  const review = await config
    .makeApiClient(AuthorizationV1Api)
    .createSelfSubjectAccessReview({ body: { spec: { resourceAttributes: { verb: "delete", resource: "nodes" } } } });
  assert.equal(review.status?.allowed, true);
});

test("patches of all four kinds", async () => {
  const namespace = await newNamespace();
  await core.createNamespacedConfigMap({ namespace, body: configMap("settings", { color: "blue", size: "big" }) });
  const patch = (type: PatchStrategy, body: unknown, more: object = {}): Promise<V1ConfigMap> =>
    core.patchNamespacedConfigMap(
      { namespace, name: "settings", body, ...more },
      setHeaderOptions("Content-Type", type),
    );

  const json = await patch(PatchStrategy.JsonPatch, [{ op: "replace", path: "/data/color", value: "red" }]);
  const merge = await patch(PatchStrategy.MergePatch, { data: { size: null } });
  const strategic = await patch(PatchStrategy.StrategicMergePatch, { metadata: { labels: { a: "b" } } });
  const applied = await patch(PatchStrategy.ServerSideApply, configMap("settings", { shape: "round" }, { a: "b" }), {
    fieldManager: "applier",
  });
  const conflict = await codeOf(
    patch(PatchStrategy.ServerSideApply, configMap("settings", { shape: "flat" }), { fieldManager: "other" }),
  );
  const forced = await patch(PatchStrategy.ServerSideApply, configMap("settings", { shape: "flat" }), {
    fieldManager: "other",
    force: true,
  });

  assert.deepEqual(json.data, { color: "red", size: "big" });
  assert.deepEqual(merge.data, { color: "red" });
  assert.deepEqual(strategic.metadata?.labels, { a: "b" });
  assert.deepEqual(applied.data, { color: "red", shape: "round" });
  assert.deepEqual(conflict, { code: 409, reason: "Conflict" });
  assert.deepEqual(forced.data, { color: "red", shape: "flat" });
  const managers = forced.metadata?.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`);
  assert(managers?.includes("other Apply"), String(managers));
});

test("deletes that must wait, by finalizers and by propagation", async () => {
  const namespace = await newNamespace();
  const held = { ...configMap("held"), metadata: { name: "held", finalizers: ["example.com/hold"] } };
  const finalizersOf = async (name: string, propagationPolicy: string): Promise<string[] | undefined> => {
    await core.createNamespacedConfigMap({ namespace, body: { ...held, metadata: { ...held.metadata, name } } });
    return await deletedFinalizers(
      `/api/v1/namespaces/${namespace}/configmaps/${name}?propagationPolicy=${propagationPolicy}`,
    );
  };

  assert.deepEqual(await finalizersOf("background", "Background"), ["example.com/hold"]);
  assert.deepEqual((await finalizersOf("orphan", "Orphan"))?.toSorted(), ["example.com/hold", "orphan"]);
  assert.deepEqual((await finalizersOf("foreground", "Foreground"))?.toSorted(), [
    "example.com/hold",
    "foregroundDeletion",
  ]);
  const waiting = await core.readNamespacedConfigMap({ namespace, name: "background" });
  assert(waiting.metadata?.deletionTimestamp instanceof Date);
  const precondition = core.deleteNamespacedConfigMap({
    namespace,
    name: "kube-root-ca.crt",
    body: { preconditions: { uid: "other" } },
  });
  assert.deepEqual(await codeOf(precondition), { code: 409, reason: "Conflict" });
});

/** Reads the raw answer, because the client parses every answer to a delete as a Status. */
function deletedFinalizers(path: string): Promise<string[] | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string[] | undefined>();
  const options = { method: "DELETE", agent: false, ...credentialsOf(server) };
  const request = https.request(`${server.url}${path}`, options, async (response) => {
    const chunks = (await response.toArray()) as Buffer[];
    const object = JSON.parse(Buffer.concat(chunks).toString()) as V1ConfigMap;
    resolve(object.metadata?.finalizers);
  });
  request.on("error", reject).end();
  return promise;
}

test("lists in chunks, by labels and by fields", async () => {
  const namespace = await newNamespace();
  for (let i = 0; i < 7; i++)
    await core.createNamespacedConfigMap({ namespace, body: configMap(`c${i}`, {}, { odd: String(i % 2) }) });

  const names: string[] = [];
  let token: string | undefined;
  do {
    const page = await core.listNamespacedConfigMap({
      namespace,
      limit: 3,
      labelSelector: "odd",
      ...(token ? { _continue: token } : {}),
    });
    names.push(...page.items.map(({ metadata }) => metadata?.name ?? ""));
    token = page.metadata?._continue;
  } while (token);
  const odd = await core.listNamespacedConfigMap({ namespace, labelSelector: "odd=1" });
  const one = await core.listNamespacedConfigMap({ namespace, fieldSelector: "metadata.name=c3" });
  await core.deleteCollectionNamespacedConfigMap({ namespace, labelSelector: "odd=1" });
  const left = await core.listConfigMapForAllNamespaces({ labelSelector: "odd" });

  assert.deepEqual(names, ["c0", "c1", "c2", "c3", "c4", "c5", "c6"]);
  assert.deepEqual([odd.items.length, one.items.length, left.items.length], [3, 1, 4]);
});

test("a watch sees changes and can be ended by the client", async () => {
  const namespace = await newNamespace();
  const seen: string[] = [];
  const ended = Promise.withResolvers<unknown>();
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const request = await new Watch(config).watch(
    path,
    { labelSelector: "watched", allowWatchBookmarks: true },
    (phase: string, object: V1ConfigMap) => seen.push(`${phase} ${object.metadata?.name ?? ""}`),
    ended.resolve,
  );

  await core.createNamespacedConfigMap({ namespace, body: configMap("a", {}, { watched: "yes" }) });
  await core.replaceNamespacedConfigMap({ namespace, name: "a", body: configMap("a", { n: "1" }, { watched: "yes" }) });
  await core.deleteNamespacedConfigMap({ namespace, name: "a" });
  await deadline("three events", () => seen.length >= 3 || undefined);
  request.abort();
  await ended.promise;

  assert.deepEqual(seen, ["ADDED a", "MODIFIED a", "DELETED a"]);
});

test("an informer follows changes, and continues after a restart of the server", async () => {
  const dataDir = makeTempDir();
  const first = await startServer({ dataDir });
  const kubeConfig = configOf(first);
  const api = kubeConfig.makeApiClient(CoreV1Api);
  const namespace = "default";
  const informer = makeInformer(
    kubeConfig,
    `/api/v1/namespaces/${namespace}/configmaps`,
    () => api.listNamespacedConfigMap({ namespace, labelSelector: "watched" }),
    "watched",
  );
  const seen: string[] = [];
  const follow = (verb: "add" | "update" | "delete") =>
    informer.on(verb, ({ metadata }) => seen.push(`${verb} ${metadata?.name}`));
  for (const verb of ["add", "update", "delete"] as const) follow(verb);
  let errors = 0;
  let isStopped = false;
  informer.on("error", () => {
    errors++;
    setTimeout(() => !isStopped && void informer.start(), 50);
  });
  const until = (what: string) => deadline(what, () => seen.includes(what) || undefined);
  const write = (name: string) => configMap(name, { text: String(seen.length) }, { watched: "yes" });

  let second: RunningServer | undefined;
  try {
    await api.createNamespacedConfigMap({ namespace, body: write("before") });
    await informer.start();
    await until("add before");
    await api.createNamespacedConfigMap({ namespace, body: write("during") });
    await until("add during");
    await api.replaceNamespacedConfigMap({ namespace, name: "during", body: write("during") });
    await until("update during");
    await first.end("SIGKILL");
    second = await startServer({ dataDir, args: ["--port", String(first.port)] });
    await api.createNamespacedConfigMap({ namespace, body: write("after") });
    await api.deleteNamespacedConfigMap({ namespace, name: "before" });
    await until("add after");
    await until("delete before");
  } finally {
    isStopped = true;
    await informer.stop();
    await first[Symbol.asyncDispose]();
    await second?.[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true, force: true });
  }

  assert(errors > 0, "the cut was not noticed");
  assert.deepEqual(
    informer
      .list()
      .map(({ metadata }) => metadata?.name)
      .toSorted(),
    ["after", "during"],
  );
});
