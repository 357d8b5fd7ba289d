import { parseQuantity } from "#api/meta/quantity.ts";
import { podRulesOf } from "#cluster/simulated/pod-rules.ts";
import type { ClusterOptions } from "../start-cluster.ts";

const names: Readonly<Record<keyof ClusterOptions, true>> = {
  log: true,
  seed: true,
  historyLimits: true,
  controllers: true,
  nodes: true,
  simulation: true,
  nodeMetrics: true,
  scheduler: true,
  startMs: true,
  clock: true,
  components: true,
  fieldValidation: true,
  from: true,
};
const simulationNames = ["capacity", "labels", "taints", "delays", "hooks", "zones", "pods", "stages"];
const delayNames = ["sandboxMs", "pullMs", "startMs", "stopMs"];
const hookNames = ["runSandbox", "startContainer", "pullImage", "exec", "ending", "usage", "probe", "logs", "connect"];
const maxNodes = 32_768;

/** Throws if an option makes no sense: a wrong one that is ignored makes a test pass for the wrong reason. */
export function checkOptions(options: ClusterOptions): void {
  const { nodes = 0, seed = 1, clock = "virtual", simulation = {} } = options;
  known("startCluster()", options, Object.keys(names));
  if (!Number.isInteger(nodes) || nodes < 0 || nodes > maxNodes) {
    throw new TypeError(`nodes must be a whole number from 0 to ${maxNodes}, not ${String(nodes)}`);
  }
  if (!Number.isFinite(seed)) throw new TypeError(`seed must be a number, not ${String(seed)}`);
  if (clock !== "virtual" && clock !== "system") {
    throw new TypeError(`clock must be "virtual" or "system", not ${JSON.stringify(clock)}`);
  }
  known("simulation", simulation, simulationNames);
  known("simulation.delays", simulation.delays ?? {}, delayNames);
  known("simulation.hooks", simulation.hooks ?? {}, hookNames);
  for (const [name, delay] of Object.entries(simulation.delays ?? {})) {
    if (!(typeof delay === "number" && delay >= 0)) {
      throw new TypeError(`simulation.delays.${name} must be milliseconds, not ${String(delay)}`);
    }
  }
  podRulesOf(simulation.pods ?? [], "simulation.pods");
  for (const [name, amount] of Object.entries(simulation.capacity ?? {})) checkQuantity(name, amount);
}

function known(where: string, given: object, all: readonly string[]): void {
  const wrong = Object.keys(given).find((name) => !all.includes(name));
  if (wrong === undefined) return;
  throw new TypeError(`${where} has no option ${JSON.stringify(wrong)}; its options are ${all.join(", ")}`);
}

function checkQuantity(name: string, amount: unknown): void {
  try {
    if (typeof amount === "string") {
      parseQuantity(amount);
      return;
    }
  } catch {
    // The same message as for a value that is not even a string.
  }
  throw new TypeError(
    `simulation.capacity.${name} must be a quantity such as "4" or "8Gi", not ${JSON.stringify(amount)}`,
  );
}
