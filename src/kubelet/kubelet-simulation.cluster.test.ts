import assert from "node:assert/strict";
import { test } from "node:test";
import { isReady } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { Kubelet } from "./kubelet.ts";
import { simulatedMachine } from "./node/machine.ts";
import { SimulatedRuntime } from "./runtime/simulated.ts";

for (const seed of [1, 2, 3]) {
  test(`pods reach Running despite random failures (seed ${seed})`, { timeout: 120_000 }, async () => {
    await using cluster = await startCluster({ controllers: false, seed });
    const { clock, api, client } = cluster;
    await client.create(ServiceAccount, { metadata: { namespace: "default", name: "default" } });
    const random = seededRandom(seed);
    let faultRate = 0.3;
    const mayFail = (what: string) => {
      if (random() < faultRate) throw new Error(`${what} failed at random`);
    };
    const runtime = new SimulatedRuntime({
      clock,
      random,
      podCidr: "10.244.0.0/24",
      delays: { sandboxMs: 120, startMs: 60, pullMs: 500, stopMs: 40 },
      hooks: {
        runSandbox: () => mayFail("sandbox"),
        startContainer: () => mayFail("start"),
        pullImage: () => mayFail("pull"),
      },
    });
    const start = () => {
      const stop = new AbortController();
      const { informers, recorder } = api;
      const machine = simulatedMachine("node-1", "10.0.0.1");
      const options = {
        client,
        informers,
        recorder,
        clock,
        log: silentLog,
        nodeName: "node-1",
        runtime,
        machine,
        random,
      };
      const ended = new Kubelet(options).run(stop.signal);
      return { stop: () => stop.abort(new Error("killed")), ended };
    };
    let running = start();
    const names = Array.from({ length: 12 }, (_, index) => `pod-${index}`);
    const wanted = new Set<string>();
    for (let round = 0; round < 30; round++) {
      const name = names[Math.floor(random() * names.length)] ?? "";
      const ref = { namespace: "default", name };
      const isThere = (await cluster.list(Pod)).some(({ metadata }) => metadata.name === name);
      if (!isThere) {
        const containers = [
          { name: "a", image: `image-${round % 3}:1` },
          { name: "b", image: "image:1" },
        ];
        const spec = { nodeName: "node-1", containers, automountServiceAccountToken: false };
        await client.create(Pod, { metadata: ref, spec });
        wanted.add(name);
      } else if (wanted.delete(name)) await client.delete(Pod, ref, { gracePeriodSeconds: Math.floor(random() * 3) });
      if (round % 7 === 6) {
        running.stop();
        await clock.advance(1500);
        await running.ended;
        running = start();
      }
      await clock.advance(Math.floor(random() * 700));
    }

    faultRate = 0;
    await clock.advance(700_000);

    const pods = await cluster.list(Pod);
    assert.deepEqual(pods.map(({ metadata }) => metadata.name).toSorted(), [...wanted].toSorted());
    assert.deepEqual(
      pods.filter((pod) => !isReady(pod)).map(({ status }) => status),
      [],
    );
    const sandboxes = await runtime.listSandboxes();
    const byPod = Map.groupBy(
      sandboxes.filter(({ state }) => state === "ready"),
      ({ pod }) => pod.name,
    );
    assert.deepEqual([...byPod.keys()].toSorted(), [...wanted].toSorted());
    assert([...byPod.values()].every((own) => own.length === 1));
    const up = (await runtime.listContainers()).filter(({ state }) => state === "running");
    assert.equal(up.length, 2 * wanted.size);
    running.stop();
    await running.ended;
  });
}
