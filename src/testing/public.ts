// Loads nothing else but timers at first: a Node that is too old cannot parse the other modules, and this file has to say
// so. The timers are those that a test runner has not replaced yet.
import "#lib/async/real-timers.ts";
import type { ClusterOptions, TestCluster } from "./start-cluster.ts";

export type { UserInfo } from "#api/exchange.ts";
export type { ApiObject, InputOf, Resource } from "#api/resource.ts";
export type { Client } from "#client/client.ts";
export type { PodRuleInput } from "#cluster/simulated/pod-rules.ts";
export type { SimulatedNode, SimulationOptions } from "#cluster/simulated/simulated-nodes.ts";
export type { StageInput } from "#cluster/simulated/stages/read-stages.ts";
export type { CommandAnswer, LogEntry, PortAnswer } from "#kubelet/runtime/simulation/behaviour.ts";
export type {
  CommandCall,
  Ending,
  SimulatedUsage,
  SimulationDelays,
  SimulationHooks,
} from "#kubelet/runtime/simulation.ts";
export type { SimulatedHostHooks, SimulatedProbe } from "#kubelet/simulated-host.ts";
export type { Task } from "#lib/async/tasks.ts";
export type { ClusterOptions, ClusterSnapshot, Component, ComponentDeps, TestCluster } from "./start-cluster.ts";
export type { ApiFaults, FaultRule } from "./verbs/api-faults.ts";
export type { Target } from "./verbs/diagnose.ts";
export type { Listening, ListenOptions } from "./verbs/listen.ts";
export type { SettleOptions } from "./verbs/settle.ts";
export type { VirtualClock } from "./virtual-clock.ts";

/** The first major version with `await using`. */
const oldestNode = 24;

/**
 * The export of `orlop/testing`: a whole cluster in this process; see `TestCluster`. Unknown fields are refused unless
 * `fieldValidation` says otherwise.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) < oldestNode) {
    throw new Error(
      `orlop/testing needs Node ${oldestNode} or later, and this is ${node}: \`npx orlop run --test FILE\` runs tests with Node 26`,
    );
  }
  const inside = await import("./start-cluster.ts");
  return await inside.startCluster({ fieldValidation: "Strict", ...options });
}
