import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedRuntime } from "#kubelet/runtime/simulated.ts";
import { seededRandom } from "#lib/data/random.ts";
import { containerConfig, sandboxConfig } from "#testing/network/runtime-config.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { defaultImageGcPolicy, ImageGc, type ImageRecord, planImageGc } from "./image-gc.ts";

const hour = 3_600_000;
const now = 100 * hour;
const record = (
  id: string,
  about: Partial<ImageRecord> & { sizeBytes?: number; pinned?: boolean } = {},
): ImageRecord => {
  const { sizeBytes = 10, pinned = false, ...rest } = about;
  const image = { id, tags: [], digests: [], sizeBytes, username: "", pinned };
  return { image, firstSeen: 0, lastUsed: 0, isUsed: false, ...rest };
};
const full = { capacityBytes: 100, availableBytes: 5 }; // 15 bytes over the target.

const cases = [
  {
    name: "nothing while the disk has space",
    records: [record("a")],
    disk: { capacityBytes: 100, availableBytes: 16 },
    remove: [],
  },
  {
    name: "the longest unused first, as many as needed",
    records: [
      record("new", { lastUsed: 90 * hour }),
      record("old", { lastUsed: hour }),
      record("mid", { lastUsed: 2 * hour }),
    ],
    disk: full,
    remove: ["old", "mid"],
  },
  {
    name: "no image that is in use, pinned or new",
    records: [record("used", { isUsed: true }), record("pin", { pinned: true }), record("new", { firstSeen: now - 1 })],
    disk: full,
    remove: [],
  },
  {
    name: "an image over the maximum age, even if the disk has space",
    records: [record("old", { lastUsed: hour }), record("fresh", { lastUsed: now - hour })],
    disk: { capacityBytes: 100, availableBytes: 90 },
    maxAgeMs: 24 * hour,
    remove: ["old"],
  },
];
for (const { name, records, disk, remove, maxAgeMs = 0 } of cases) {
  test(`planImageGc() removes ${name}`, () => {
    const plan = planImageGc(records, { policy: { ...defaultImageGcPolicy, maxAgeMs }, disk, now });

    assert.deepEqual(plan.remove, remove);
  });
}

test("ImageGc keeps the images of containers and those listed by keep()", async () => {
  const clock = createVirtualClock();
  const runtime = new SimulatedRuntime({ clock, random: seededRandom(1), podCidr: "10.0.0.0/24" });
  for (const name of ["used:1", "pause:1", "idle:1"]) await runtime.pullImage(name);
  const sandbox = sandboxConfig();
  const sandboxId = await runtime.runSandbox(sandbox);
  await runtime.createContainer({ sandboxId, config: containerConfig({ image: "used:1" }), sandbox });
  const policy = { ...defaultImageGcPolicy, minAgeMs: 1000 };
  const gc = new ImageGc({ runtime, clock, policy, keep: () => ["pause:1"], disk: async () => full });

  assert.deepEqual((await gc.collect()).remove, []);
  await clock.advance(1000);
  const { remove, failures } = await gc.collect();

  assert.deepEqual([remove.length, failures.length], [1, 0]);
  assert.deepEqual(
    (await runtime.listImages()).flatMap(({ tags }) => tags),
    ["used:1", "pause:1"],
  );
});
