// Imports types only: a Node that is too old cannot parse the modules behind them, and this file has to say so.
import type { Clock } from "#lib/async/clock.ts";
import type { ClusterOptions, TestCluster } from "./start-cluster.ts";

export type { ClusterOptions, SettleOptions, TestCluster } from "./start-cluster.ts";

/** The first major version with `await using`. */
const oldestNode = 24;

/** The export of `orlop/testing`: a whole cluster in this process; see `TestCluster`. */
export async function startCluster(options?: ClusterOptions & { readonly clock?: "virtual" }): Promise<TestCluster>;
export async function startCluster(options: ClusterOptions & { readonly clock: "system" }): Promise<TestCluster<Clock>>;
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster | TestCluster<Clock>> {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) < oldestNode) {
    throw new Error(
      `orlop/testing needs Node ${oldestNode} or later, and this is ${node}: \`npx orlop run --test FILE\` runs tests with Node 26`,
    );
  }
  const inside = await import("./start-cluster.ts");
  const { clock, ...rest } = options;
  return clock === "system" ? inside.startCluster({ ...rest, clock }) : inside.startCluster({ ...rest });
}
