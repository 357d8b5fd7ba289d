import type { UserInfo } from "#api/exchange.ts";
import type { Client } from "#client/client.ts";
import type { Task } from "#lib/async/tasks.ts";
import type { Random } from "#lib/data/random.ts";
import type { Kinds } from "#runtime/kinds.ts";
import type { RunDeps } from "#runtime/run-reconciler.ts";
import type { SimulatedNode, SimulationOptions } from "../simulated-nodes.ts";

export interface LoadedStages {
  /** What stages lead instead of the kubelets. */
  readonly staged: { readonly pods: boolean; readonly nodes: boolean };
  /** Runs the stages until its signal. */
  task(deps: StageTaskDeps, nodes: readonly SimulatedNode[]): Task;
}

export interface StageTaskDeps extends Omit<RunDeps, "client"> {
  readonly kinds: Kinds;
  readonly random: Random;
  clientFor(user: UserInfo): Client;
}

/** Reads the stages of the options, if there are any. Their code is loaded only then. */
export async function loadStages(options: SimulationOptions): Promise<LoadedStages | undefined> {
  const { stages: inputs } = options;
  if (inputs === undefined) return undefined;
  const { drives, readStages } = await import("./read-stages.ts");
  const stages = await readStages(inputs);
  const staged = { pods: drives(stages, "Pod"), nodes: drives(stages, "Node") };
  if (staged.pods) refuseUnused(options);
  const { ownNodesOf } = await import("./own-nodes.ts");
  const { runStages } = await import("./run-stages.ts");
  return {
    staged,
    task: (deps, nodes) => (signal) => runStages({ ...deps, stages, nodes: ownNodesOf(nodes) }, signal),
  };
}

const aboutPods = ["pods", "delays", "hooks", "failingImages"] as const;

/** What describes pods would have no effect, and a test that relies on it would pass for the wrong reason. */
function refuseUnused(options: SimulationOptions & { readonly failingImages?: unknown }): void {
  const unused = aboutPods.find((name) => Object.keys(options[name] ?? {}).length > 0);
  if (unused) throw new Error(`${unused} has no effect, because there are stages for pods, which decide what pods do`);
}
