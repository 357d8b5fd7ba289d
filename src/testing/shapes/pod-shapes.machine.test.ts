import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { startRealNode } from "../real-node.ts";
import { Histories, type PodHistory } from "./pod-history.ts";
import { podShapes } from "./pod-shapes.ts";
import { createReferenced, simulateShapes } from "./simulate-shapes.ts";

suite("a simulated node treats pods as a real one does", { timeout: 300_000 }, () => {
  const real = new Map<string, PodHistory>();
  let simulated: ReadonlyMap<string, PodHistory>;

  before(async () => {
    simulated = await simulateShapes(podShapes);
    await using node = await startRealNode();
    await createReferenced(node.client);
    using histories = new Histories(node.api.informers);
    const faults: unknown[] = [];
    const open = podShapes.values();
    const work = async () => {
      for (const { name, spec, until } of open) {
        await node.createPod(name, spec);
        await histories.reach(name, until, AbortSignal.timeout(limitMs)).catch((error: unknown) => faults.push(error));
        await node.removePod(name);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    // The kubelet that ends writes the events that it still holds.
    await node.restartKubelet();
    assert.deepEqual(faults, []);
    for (const { name } of podShapes) real.set(name, histories.of(name));
  });
  after(() => real.clear());

  for (const { name } of podShapes) {
    test(name, () => assert.deepEqual(simulated.get(name), real.get(name)));
  }
});

const atOnce = 8;
const limitMs = 60_000;
