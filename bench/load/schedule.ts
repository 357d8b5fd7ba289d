import { type Connections, json } from "../lib/connections.ts";
import { inFlight } from "../lib/in-flight.ts";
import { deployment, lease, node, nodeStatus, pod } from "../lib/objects.ts";
import { podsOf, revisionOf, type Scenario, type Target } from "./scenario.ts";

/** Creates pods, and waits until each has its node. */
export const schedule: Scenario = {
  name: "schedule",
  unit: "binds",
  prepare: makeNodes,
  async run(target) {
    const { connections, width } = target;
    const count = scheduled(target);
    const bound = await countBound(target, "s-");
    await inFlight({ count, width }, (n) =>
      connections.call({ method: "POST", path: podsOf(target), body: json(pod(`s-${n}`)) }),
    );
    await bound(count);
    return { count };
  },
};

/** Creates one Deployment, and waits until each of its pods has its node. */
export const deploy: Scenario = {
  name: "deploy",
  unit: "pods",
  prepare: makeNodes,
  async run(target) {
    const count = scheduled(target);
    const bound = await countBound(target, "bench-deploy-");
    const path = `/apis/apps/v1/namespaces/${target.namespace}/deployments`;
    await target.connections.call({ method: "POST", path, body: json(deployment("bench-deploy", count)) });
    await bound(count);
    return { count };
  },
};

const scheduled = ({ pods }: Target): number => Math.min(pods, 2000);

const ready = new WeakSet<Target>();

/** Creates nodes without machines. They report once that they are ready, which lasts for the whole bench. */
async function makeNodes(target: Target): Promise<void> {
  if (ready.has(target)) return;
  ready.add(target);
  const { connections, nodes } = target;
  const type = "application/strategic-merge-patch+json";
  const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
  await inFlight({ count: nodes, width: 16 }, async (n) => {
    const name = `bench-${n}`;
    // In the future, so that nothing has to be renewed.
    const now = new Date(Date.now() + 600_000);
    await connections.call({ method: "POST", path: leases, body: json(lease(name, now)) });
    await connections.call({ method: "POST", path: "/api/v1/nodes", body: json(node(name)) });
    await connections.call({
      method: "PATCH",
      path: `/api/v1/nodes/${name}/status`,
      body: json(nodeStatus(now)),
      type,
    });
    const body = json({ spec: { taints: null } });
    await connections.call({ method: "PATCH", path: `/api/v1/nodes/${name}`, body, type });
  });
}

interface PodEvent {
  readonly object: { readonly metadata: { readonly name: string }; readonly spec?: { readonly nodeName?: string } };
}

/** Watches from now on. Returns a function that waits until this many pods with the prefix have a node. */
async function countBound(target: Target, prefix: string): Promise<(count: number) => Promise<void>> {
  const bound = new Set<string>();
  let check = (): void => {};
  await followLines(target.connections, podsOf(target), (line) => {
    const { object } = JSON.parse(line) as PodEvent;
    if (!object.spec?.nodeName || !object.metadata.name.startsWith(prefix)) return;
    bound.add(object.metadata.name);
    check();
  });
  return (count) =>
    new Promise((resolve) => {
      check = () => {
        if (bound.size >= count) resolve();
      };
      check();
    });
}

async function followLines(connections: Connections, path: string, onLine: (line: string) => void): Promise<void> {
  let rest = "";
  const from = await revisionOf(connections, path);
  connections.follow(`${path}?watch=1&resourceVersion=${from}`, (chunk) => {
    const lines = (rest + chunk.toString("latin1")).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(onLine);
  });
}
