import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { allResources } from "#api/all.ts";
import { ask, type Loose, type Said } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

let cluster: TestCluster;
before(async () => {
  cluster = await startCluster({ controllers: false });
});
after(() => cluster[Symbol.asyncDispose]());

const get = (path: string, headers: Record<string, string> = {}): Promise<Said> =>
  ask(cluster.api.server, `GET ${path}`, { headers });
const list = (value: Loose | undefined): readonly Loose[] => (value ?? []) as unknown as readonly Loose[];

test("every group, version and resource can be found from the roots", async () => {
  const groups = list((await get("/apis")).json.groups);
  const versions = groups.flatMap((group) => list(group.versions).map(({ groupVersion }) => String(groupVersion)));
  const found = new Set<string>();
  for (const path of ["/api/v1", ...versions.map((version) => `/apis/${version}`)]) {
    const { json } = await get(path);
    for (const { name } of list(json.resources)) found.add(`${json.groupVersion}/${name}`);
  }

  for (const { group, version, plural, subresources } of allResources) {
    const own = `${group ? `${group}/` : ""}${version}/${plural}`;
    assert.ok(found.has(own), own);
    for (const { name } of subresources) assert.ok(found.has(`${own}/${name}`), `${own}/${name}`);
  }
});

for (const version of ["v2", "v2beta1"]) {
  test(`aggregated discovery in ${version} is one complete document without duplicates`, async () => {
    const accept = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList,application/json`;
    const all = await get("/apis", { accept });
    const core = await get("/api", { accept });

    assert.equal(all.json.kind, "APIGroupDiscoveryList");
    assert.equal(all.json.apiVersion, `apidiscovery.k8s.io/${version}`);
    const [coreVersion] = list(core.items[0]?.versions);
    const pods = list(coreVersion?.resources).find(({ resource }) => String(resource) === "pods");
    assert.deepEqual(pods?.responseKind, { group: "", version: "", kind: "Pod" });
    assert.ok(list(pods?.subresources).some(({ subresource }) => String(subresource) === "log"));
  });
}

test("groups come in upstream's order, and resources have the hash of their stored version", async () => {
  const groups = list((await get("/apis")).json.groups).map(({ name }) => String(name));
  const pods = list((await get("/api/v1")).json.resources).find(({ name }) => String(name) === "pods");
  const first = list((await get("/apis/autoscaling/v1")).json.resources)[0];

  assert.deepEqual(groups.slice(0, 3), ["apiregistration.k8s.io", "apps", "events.k8s.io"]);
  assert.deepEqual(groups.slice(-2), ["flowcontrol.apiserver.k8s.io", "metrics.k8s.io"]);
  assert.equal(pods?.storageVersionHash, "xPOwRZ+Yhw8=");
  assert.equal(first?.storageVersionHash, "qwQve8ut294=", "autoscaling/v1 is stored as v2");
});

test("unknown groups and versions are not found, and not cached", async () => {
  for (const path of ["/apis/none", "/apis/apps/v9", "/api/v9", "/apis/apps/v1/none/a", "/openapi/v3/apis/none/v1"])
    assert.equal((await get(path)).status, 404, path);
});

test("documents that a client has cached are not sent again", async () => {
  const index = await get("/openapi/v3");
  const paths = index.json.paths as unknown as Readonly<Record<string, { serverRelativeURL: string }>>;
  const url = paths["apis/apps/v1"]?.serverRelativeURL ?? "";
  const serve = (headers: Record<string, string>) =>
    cluster.api.server.serve({
      method: "GET",
      path: url.split("?")[0] ?? "",
      query: "",
      headers,
      body: undefined,
      signal: new AbortController().signal,
      peer: { address: "", user: { name: "a", groups: ["system:masters"] } },
    });

  const { wire } = await serve({});
  assert(wire.type === "body");
  const etag = String(wire.headers?.etag);
  const again = await serve({ "if-none-match": etag });

  assert.ok(url.includes(etag.slice(1, -1)));
  assert(again.wire.type === "body");
  assert.deepEqual([again.wire.status, Buffer.concat(again.wire.chunks).length], [304, 0]);
});

test("the version is one that clients accept as Kubernetes", async () => {
  const { json } = await get("/version");

  assert.deepEqual([json.major, json.minor], ["1", "36"]);
  assert.match(String(json.gitVersion), /^v1\.36\.\d+/);
});

test("the checks of the start are listed with upstream's names, and each has a path", async () => {
  const { bytes } = await get("/readyz?verbose");

  const names = Buffer.from(bytes)
    .toString()
    .split("\n")
    .flatMap((line) => /^\[\+\](\S+) ok$/.exec(line)?.[1] ?? []);
  assert.deepEqual(names, [
    "ping",
    "log",
    "etcd",
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/storage-readiness",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/rbac/bootstrap-roles",
    "etcd-readiness",
    "informer-sync",
    "shutdown",
  ]);
  const statuses = await Promise.all(names.map(async (name) => (await get(`/readyz/${name}`)).status));
  assert.deepEqual(new Set(statuses), new Set([200]));
  assert.equal((await get("/livez/shutdown")).status, 404);
});

test("health is public, its details and the metrics are not", async () => {
  const user = { name: "system:anonymous", groups: ["system:unauthenticated"] };
  const status = async (path: string) => (await ask(cluster.api.server, `GET ${path}`, { user })).status;

  const statuses = await Promise.all(["/livez", "/readyz", "/healthz", "/readyz/ping", "/metrics"].map(status));
  assert.deepEqual(statuses, [200, 200, 200, 403, 403]);
  assert.deepEqual([(await get("/readyz/ping")).status, (await get("/readyz/none")).status], [200, 404]);
});

test("unknown paths below a known one are not found", async () => {
  const paths = ["/version/x", "/metrics/x", "/openid/v1", "/.well-known/x", "/api/v2", "/apis/none", "/none"];
  const statuses = await Promise.all(paths.map(async (path) => (await get(path)).status));

  assert.deepEqual(
    statuses,
    paths.map(() => 404),
  );
});

test("a path with invalid percent-encoding is the client's mistake", async () => {
  for (const path of ["/orlop/trace/pods/default/%zz", "/api/v1/namespaces/default/pods/%zz"]) {
    assert.equal((await get(path)).status, 400, path);
  }
});

test("unknown resources have no metrics of their own", async () => {
  for (let i = 0; i < 50; i++) {
    await get(`/api/v1/made-up-${i}`);
    await get(`/apis/made-up-${i}.example/v1/things/a/b`);
    await get(`/api/v1/namespaces/default/pods/a/made-up-${i}`);
    await ask(cluster.api.server, `MADEUP${i} /api/v1/pods`);
    await get(`/made-up-${i}`);
  }
  await get("/api/v1/namespaces/default/pods/none/status");

  const text = Buffer.from((await get("/metrics")).bytes).toString();
  assert.doesNotMatch(text, /made-?up/i);
  assert.match(
    text,
    /apiserver_request_total\{verb="GET",group="",version="v1",resource="pods",subresource="status",code="404"\} 1/,
  );
});

test("OpenAPI describes every field, and no type repeats the text of its field", async () => {
  const { paths } = (await get("/openapi/v3")).json as unknown as { paths: Record<string, unknown> };
  for (const path of ["api", "apis", "apis/apps", "apis/apps/v1", "version", "openid/v1/jwks"])
    assert.ok(path in paths);
  for (const path of Object.keys(paths)) {
    const { status, json } = await get(`/openapi/v3/${path}`);
    assert.equal(status, 200, path);
    const { components } = json as unknown as { components?: { schemas: Schemas } };
    const schemas = components?.schemas ?? {};
    for (const [name, { properties = {} }] of Object.entries(schemas)) {
      for (const [field, { description, allOf }] of Object.entries(properties)) {
        const type = allOf?.[0]?.$ref.split("/").at(-1) ?? "";
        assert(description && description !== schemas[type]?.description, `${name}.${field}: ${description}`);
      }
    }
  }
});

type Schemas = Record<string, { description?: string; properties?: Record<string, Property> }>;
interface Property {
  readonly description?: string;
  readonly allOf?: readonly { readonly $ref: string }[];
}
