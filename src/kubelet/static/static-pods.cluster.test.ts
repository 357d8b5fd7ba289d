import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { type TestContext, test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { systemClock } from "#lib/async/clock.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { silentLog } from "#lib/process/log.ts";
import { startSimulatedNode } from "#testing/simulated-node.ts";
import { readManifest } from "./manifest.ts";
import { StaticPods } from "./static-pods.ts";

const nodeName = "node-1";
const ref = { namespace: "default", name: "web-node-1" };
const manifest = (image: string, more = "") =>
  `{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: web, image: "${image}"}]${more}}}`;
const place = { file: "/manifests/web.yaml", nodeName, seen: "2026-01-01T00:00:00Z" };

async function aDirectory(t: TestContext): Promise<string> {
  const dir = await mkdtemp(`${tmpdir()}/orlop-static-`);
  t.after(() => rm(dir, { recursive: true }));
  return dir;
}

test("readManifest() binds the file's pod to this node", async () => {
  const pod = await readManifest(manifest("app:1"), place);
  const { name, namespace, uid, annotations } = pod.metadata;
  assert.deepEqual([name, namespace, pod.spec.nodeName], ["web-node-1", "default", nodeName]);
  assert.equal(annotations?.["kubernetes.io/config.hash"], uid);
  assert.deepEqual(pod.spec.tolerations, [{ operator: "Exists", effect: "NoExecute" }]);
  assert.equal((await readManifest(manifest("app:1"), place)).metadata.uid, uid);
  assert.notEqual((await readManifest(manifest("app:2"), place)).metadata.uid, uid);
});

test("readManifest() refuses what is not a pod, is invalid, or needs the API", async () => {
  const secret = ", volumes: [{name: s, secret: {secretName: x}}]";
  await assert.rejects(readManifest("kind: Service\napiVersion: v1", place), /^Error: not a v1 Pod, but v1 Service$/);
  await assert.rejects(
    readManifest(manifest(""), place),
    /^Error: invalid pod: \[spec.containers\[0\].image: Required/,
  );
  await assert.rejects(
    readManifest(manifest("app:1", secret), place),
    /^Error: static pods may not reference secrets$/,
  );
});

/** A node with static pods, whose files are read when the test decides. */
async function aNode(dir: string) {
  const staticPods = new StaticPods({ dir, nodeName, clock: systemClock, log: silentLog });
  const node = await startSimulatedNode({}, { staticPods });
  const { cluster, runtime } = node;
  return {
    cluster,
    get: () => cluster.client.get(Pod, ref),
    list: () => cluster.list(Pod, "default"),
    ids: async () => (await runtime.listContainers()).filter(({ state }) => state === "running").map(({ id }) => id),
    async until(isSo: () => Promise<boolean>) {
      while (!(await isSo())) {
        await nextTurn();
        await cluster.clock.advance(100);
      }
    },
    [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
  };
}

test("a static pod runs, is shown by a mirror, and survives the deletion of the mirror", async (t) => {
  const dir = await aDirectory(t);
  await writeFile(`${dir}/web.yaml`, manifest("app:1"));
  await writeFile(`${dir}/broken.yaml`, "{");
  await using node = await aNode(dir);
  await node.until(async () => (await node.list())[0]?.status.phase === "Running");
  const before = await node.get();
  const [id] = await node.ids();

  await node.cluster.client.delete(Pod, ref);
  await node.until(async () => (await node.list()).some(({ metadata }) => metadata.uid !== before.metadata.uid));
  await node.until(async () => (await node.list())[0]?.status.phase === "Running");

  const after = await node.get();
  assert.deepEqual(await node.ids(), [id]);
  assert.equal(
    after.metadata.annotations?.["kubernetes.io/config.mirror"],
    before.metadata.annotations?.["kubernetes.io/config.hash"],
  );
  const [owner] = after.metadata.ownerReferences ?? [];
  assert.deepEqual([owner?.kind, owner?.name, owner?.controller], ["Node", nodeName, true]);
  assert.equal(after.status.containerStatuses?.[0]?.containerID?.split("://")[1], id);
});

test("a static pod follows its file: it is replaced, and ends with it", async (t) => {
  const dir = await aDirectory(t);
  await writeFile(`${dir}/web.yaml`, manifest("app:1"));
  await using node = await aNode(dir);
  await node.until(async () => (await node.list())[0]?.status.phase === "Running");
  const [first] = await node.ids();

  await writeFile(`${dir}/web.yaml`, manifest("app:2"));
  await node.until(async () => (await node.list())[0]?.status.containerStatuses?.[0]?.image === "app:2");
  const [second, ...more] = await node.ids();
  assert.notEqual(second, first);
  assert.deepEqual(more, []);

  await rm(`${dir}/web.yaml`);
  await node.until(async () => (await node.list()).length === 0);
  assert.deepEqual(await node.ids(), []);
});
