import { type Deployment } from "#api/apps/deployment.ts";
import { Node } from "#api/core/node.ts";
import { type InputOf } from "#api/resource.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { heartbeats, type PodRunnerOptions, podRunner } from "./pod-runner.ts";
import { startCluster, type TestCluster } from "./start-cluster.ts";

/** A cluster with one large node on which pods run immediately. */
export async function startWithNode(options: PodRunnerOptions = {}): Promise<TestCluster> {
  const cluster = await startCluster({
    components: (deps) => [
      (stop) => runReconcilers([podRunner(options)], deps, stop),
      (stop) => heartbeats(deps, ["node-1"], stop),
    ],
  });
  const resources = { cpu: "1000", memory: "1000Gi", pods: "5000" };
  await cluster.client.create(Node, {
    metadata: { name: "node-1" },
    status: { capacity: resources, allocatable: resources, conditions: [{ type: "Ready", status: "True" }] },
  });
  await cluster.client.patch(Node, { name: "node-1" }, { type: "merge", body: { spec: { taints: null } } });
  await cluster.settle();
  return cluster;
}

/** The Deployment of the controllers' tests: pods with one container `web`. */
export const labels = { app: "web" };
export const metadata = { name: "web", namespace: "default" };
const template = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: "web", image }] } });

export const deploymentOf = (
  replicas: number,
  image: string,
  spec: InputOf<Deployment>["spec"] = {},
): InputOf<Deployment> => ({
  metadata,
  spec: { replicas, selector: { matchLabels: labels }, template: template(image), ...spec },
});
