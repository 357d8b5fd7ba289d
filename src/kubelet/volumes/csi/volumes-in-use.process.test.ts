import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { csiVolumeName } from "#api/storage/csi-volume-name.ts";
import type { Client } from "#client/client.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { recordFile, VolumesInUse } from "./volumes-in-use.ts";

const volume = (volumeHandle: string) => ({ driver: "dirs.example.org", volumeHandle });

/** A node in the API, as far as its volumes go. */
function fakeNode() {
  const status: { volumesInUse?: string[]; volumesAttached: { name: string; devicePath: string }[] } = {
    volumesAttached: [],
  };
  const client = {
    async patch(_resource: unknown, _ref: unknown, { body }: { body: { status: { volumesInUse: string[] } } }) {
      status.volumesInUse = body.status.volumesInUse ?? [];
      return { status };
    },
    get: async ({ kind }: { kind: string }) =>
      kind === "Node" ? { status } : { status: { attachmentMetadata: { device: "/dev/x" } } },
  } as unknown as Client;
  const attach = (handle: string) => {
    status.volumesAttached.push({ name: csiVolumeName(volume(handle)), devicePath: "" });
  };
  return { status, client, attach };
}

test("volumes that an earlier process mounted stay in use until their last pod is gone", async (t) => {
  const podsDir = await mkdtemp(`${tmpdir()}/orlop-pods-`);
  t.after(() => rm(podsDir, { recursive: true }));
  const record = async (uid: string, name: string, content: object | string) => {
    const dir = `${podsDir}/${uid}/volumes/kubernetes.io~csi/${name}`;
    await mkdir(dir, { recursive: true });
    await writeFile(`${dir}/${recordFile}`, typeof content === "string" ? content : JSON.stringify(content));
    return dir;
  };
  const shared = { driver: "dirs.example.org", volumeId: "h1", target: "/x", isAttached: true };
  const first = await record("a", "pv", shared);
  const second = await record("b", "pv", shared);
  await record("c", "inline", { ...shared, volumeId: "h2", isAttached: false });
  await record("d", "broken", "{");
  const { status, client } = fakeNode();
  const inUse = new VolumesInUse({ client, nodeName: "n", clock: createVirtualClock(), podsDir });

  await inUse.load();
  await inUse.report();
  assert.deepEqual(status.volumesInUse, [csiVolumeName(volume("h1"))]);
  await inUse.release(volume("h1"), first);
  assert.deepEqual(status.volumesInUse, [csiVolumeName(volume("h1"))]);
  await inUse.release(volume("h1"), second);
  await inUse.release(volume("h1"), second);
  assert.deepEqual(status.volumesInUse, []);
});

test("a volume is listed before it is awaited, and one that is never attached is reported", async () => {
  const { status, client, attach } = fakeNode();
  const clock = createVirtualClock();
  const inUse = new VolumesInUse({ client, nodeName: "n", clock, podsDir: "/nowhere" });
  // It reads the disk, which the virtual clock does not wait for.
  await inUse.load();

  const waiting = inUse.use(volume("h1"), "/pods/a");
  await clock.advance(1000);
  assert.deepEqual(status.volumesInUse, [csiVolumeName(volume("h1"))]);
  attach("h1");
  await clock.advance(1000);
  assert.deepEqual(await waiting, { device: "/dev/x" });

  const failing = assert.rejects(
    inUse.use(volume("h2"), "/pods/a"),
    /volume h2 is not attached for volume attachment csi-/,
  );
  await clock.advance(60_000);
  await failing;
});
