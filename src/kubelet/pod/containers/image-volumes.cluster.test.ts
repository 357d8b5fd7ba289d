import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/event.ts";
import { type PodHost, simulatedHost } from "#kubelet/host/host.ts";
import { startSimulatedNode } from "#testing/simulated-node.ts";

const volumeMounts = [{ name: "model", mountPath: "/model" }];
const volumes = [{ name: "model", image: { reference: "model:1" } }];
const container = (name: string, more: object = {}) => ({ name, image: "app:1", ...more });

test("an image volume is pulled and mounted once for all containers that mount it", async () => {
  const mounted: string[] = [];
  const host: PodHost = {
    ...simulatedHost,
    mountImage: async (_, volume, { tags }) => void mounted.push(`${volume} ${tags[0]}`),
  };
  await using node = await startSimulatedNode({}, { host });

  const containers = [container("a", { volumeMounts }), container("b", { volumeMounts }), container("c")];
  await node.create("web", { containers, volumes });
  await node.cluster.settle();

  assert.equal((await node.get("web")).status.phase, "Running");
  assert.deepEqual(mounted, ["model model:1"]);
  const events = await node.cluster.list(Event, "default");
  const pulls = events.filter(({ reason, message }) => reason === "Pulling" && message === 'Pulling image "model:1"');
  assert.deepEqual(
    pulls.map(({ count, involvedObject }) => [count, involvedObject.fieldPath]),
    [[1, undefined]],
  );
});

test("a container waits for the image of its volume as for its own, while the others run", async () => {
  let isThere = false;
  await using node = await startSimulatedNode({
    pullImage(name) {
      if (name === "model:1" && !isThere) throw new Error("no such image");
    },
  });
  await node.create("web", { containers: [container("a", { volumeMounts }), container("free")], volumes });
  await node.cluster.clock.advance(500);
  const first = (await node.get("web")).status.containerStatuses;
  await node.cluster.clock.advance(5000);
  const second = (await node.get("web")).status.containerStatuses;
  isThere = true;
  await node.cluster.clock.advance(20_000);

  assert.deepEqual(first?.[0]?.state.waiting, { reason: "ErrImagePull", message: "no such image" });
  assert(first[1]?.state.running);
  const message = 'Back-off pulling image "model:1": ErrImagePull: no such image';
  assert.deepEqual(second?.[0]?.state.waiting, { reason: "ImagePullBackOff", message });
  assert.equal((await node.get("web")).status.phase, "Running");
  const texts = (await node.cluster.list(Event, "default")).map((event) => `${event.reason}: ${event.message}`);
  assert(texts.includes('Failed: Failed to pull image "model:1": no such image'));
  assert(texts.includes("Failed: Error: ErrImagePull"));
});

test("a container whose image volume cannot be mounted says so", async () => {
  const host: PodHost = {
    ...simulatedHost,
    mountImage: async () => {
      throw new Error("no room");
    },
  };
  await using node = await startSimulatedNode({}, { host });

  await node.create("web", { containers: [container("a", { volumeMounts })], volumes });
  await node.cluster.clock.advance(100);

  const [status] = (await node.get("web")).status.containerStatuses ?? [];
  assert.deepEqual(status?.state.waiting, { reason: "CreateContainerError", message: "no room" });
});
