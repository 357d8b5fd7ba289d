import { ConfigMap } from "#api/core/config-map.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { Secret } from "#api/core/secret.ts";
import type { Client } from "#client/client.ts";
import type { Ending, SimulationHooks } from "#kubelet/runtime/simulation.ts";
import type { SimulatedHostHooks } from "#kubelet/simulated-host.ts";
import { startSimulatedNode } from "../simulated-node.ts";
import { Histories, type PodHistory } from "./pod-history.ts";
import { type PodShape, password, settings, shapeImage, unboundClaim } from "./pod-shapes.ts";

const namespace = "default";

/** Creates what the shapes refer to. */
export async function createReferenced(client: Client): Promise<void> {
  await client.create(ConfigMap, { metadata: { namespace, name: settings.name }, data: settings.data });
  await client.create(Secret, { metadata: { namespace, name: password.name }, data: password.data });
  await client.create(PersistentVolumeClaim, {
    metadata: { namespace, name: unboundClaim },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "none",
      resources: { requests: { storage: "1Gi" } },
    },
  });
}

const silent = { stdout: new Uint8Array(0), stderr: new Uint8Array(0) };

/** Does what the shell of a real node does with the same words. */
const hooks: SimulationHooks & SimulatedHostHooks = {
  pullImage: (name) => {
    if (name !== shapeImage) throw new Error("not found");
  },
  exec: (_, [command]) => ({ ...silent, exitCode: command === "false" ? 1 : 0 }),
  probe: ({ probe }) => (probe.tcpSocket?.port === 9 ? false : undefined),
  ending({ command }): Ending {
    const [, seconds, code] = /^sleep (\d+); exit (\d+)$/.exec(command[2] ?? "") ?? [];
    return { afterMs: seconds ? Number(seconds) * 1000 : Number.POSITIVE_INFINITY, exitCode: Number(code ?? 0) };
  },
};

/** Runs pods on a simulated node until each has reached its goal, deletes them, and tells what became of them. */
export async function simulateShapes(shapes: readonly PodShape[]): Promise<ReadonlyMap<string, PodHistory>> {
  const delays = { sandboxMs: 100, pullMs: 50, startMs: 50, stopMs: 50 };
  await using node = await startSimulatedNode(hooks, {}, delays);
  const { cluster, runtime } = node;
  const { client, clock } = cluster;
  const pulled = runtime.pullImage(shapeImage);
  await clock.advance(delays.pullMs);
  await pulled;
  await createReferenced(client);
  using histories = new Histories(cluster.informers);
  for (const { name, spec } of shapes) {
    await client.create(Pod, {
      metadata: { namespace, name },
      spec: { nodeName: "node-1", terminationGracePeriodSeconds: 5, ...spec },
    });
  }
  const open = new Map(shapes.map(({ name, until }) => [name, until]));
  const limit = clock.now() + limitMs;
  while (open.size > 0) {
    for (const [name, until] of open) {
      if (!histories.hasReached(name, until)) continue;
      open.delete(name);
      await client.delete(Pod, { namespace, name });
    }
    if (clock.now() > limit) {
      const [[name = "", goal] = []] = open;
      throw new Error(`${name} has not reached ${JSON.stringify(goal)}: ${JSON.stringify(histories.lastStatus(name))}`);
    }
    await clock.advance(stepMs);
  }
  await cluster.until(async () => (await cluster.list(Pod, namespace)).length === 0);
  await cluster.settle();
  return new Map(shapes.map(({ name }) => [name, histories.of(name)]));
}

const stepMs = 20;
const limitMs = 120_000;
