import { readFile } from "node:fs/promises";
import { parseQuantity } from "#api/meta/quantity.ts";
import type { Clock } from "#lib/async/clock.ts";
import type { Task } from "#lib/async/tasks.ts";
import type { Random } from "#lib/data/random.ts";
import type { Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { parseYaml } from "#lib/yaml/yaml.ts";
import { simulatedDirectories } from "#provisioner/directories.ts";
import { runProvisioner } from "#provisioner/provisioner.ts";
import type { LocalNodes } from "#server/streams/node-link.ts";
import type { ControlPlane } from "../control-plane.ts";
import { provisionerUser } from "../identities.ts";
import { localNodesOf } from "./local-nodes.ts";
import { delaysOf, type PodRuleInput, podRulesOf } from "./pod-rules.ts";
import { checked, fields, list, textFields, texts } from "./read-fields.ts";
import { createSimulatedNodes, type SimulatedNode, type SimulationOptions } from "./simulated-nodes.ts";

/** A file about simulated nodes that cannot be used. */
export class SimulationFileError extends Error {
  override readonly name = "ConfigFileError";
}

/** The simulated nodes of a server. The server has to know them before it starts, and they need the server to run. */
export interface ServerNodes {
  readonly localNodes: LocalNodes;
  /** Runs the nodes, and the volumes of their pods. */
  tasks(plane: ControlPlane, deps: ServerNodeDeps): readonly Task[];
}

export interface ServerNodeDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
}

export function createServerNodes(count: number, simulation: SimulationOptions): ServerNodes {
  const nodes: SimulatedNode[] = [];
  return {
    localNodes: localNodesOf(nodes),
    tasks: (plane, deps) => startNodes(plane, { ...deps, count, simulation, nodes }),
  };
}

function startNodes(
  plane: ControlPlane,
  deps: ServerNodeDeps & { count: number; simulation: SimulationOptions; nodes: SimulatedNode[] },
): readonly Task[] {
  const { clock, log, random, simulation, nodes, count } = deps;
  const { informers, recorder } = plane.api;
  const clientFor = plane.clientFor.bind(plane);
  nodes.push(...createSimulatedNodes(count, { informers, recorder, clock, log, random, clientFor }, simulation));
  const own = new Set(nodes.map(({ name }) => name));
  const volumes = { serves: (node: string) => own.has(node), directories: simulatedDirectories };
  const base = { informers, recorder, clock, log, client: clientFor(provisionerUser) };
  return [...nodes.map(({ run }) => run), (signal) => runProvisioner(volumes, base, signal)];
}

/** What a file says about simulated nodes: `capacity`, `labels`, `zones`, `taints`, `delays`, `failingImages` and `pods`. */
export async function readSimulation(file: string): Promise<SimulationOptions> {
  try {
    const { value } = await parseYaml(await readFile(file, "utf8"));
    return simulationOf(value);
  } catch (error) {
    throw new SimulationFileError(`${file}: ${messageOf(error)}`, { cause: error });
  }
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;
const fileFields = ["capacity", "labels", "zones", "taints", "delays", "failingImages", "pods"];
type Effect = (typeof effects)[number];

function simulationOf(value: unknown): SimulationOptions {
  const file = fields(value ?? {}, "the file", fileFields);
  const capacity = textFields(file.capacity ?? {}, "capacity");
  for (const [name, amount] of Object.entries(capacity)) checked(`capacity.${name}`, () => parseQuantity(amount));
  const labels = textFields(file.labels ?? {}, "labels");
  const failing = new Set(texts(file.failingImages ?? [], "failingImages"));
  return {
    ...(file.capacity === undefined ? {} : { capacity: { pods: "110", ...capacity } }),
    labels: () => labels,
    zones: texts(file.zones ?? [], "zones"),
    taints: list(file.taints ?? [], "taints").map(taintOf),
    delays: delaysOf(file.delays ?? {}, "delays"),
    pods: rulesIn(file.pods ?? []),
    hooks: {
      pullImage(name) {
        if (failing.has(name)) throw new Error(`failed to resolve reference "${name}": not found`);
      },
    },
  };
}

function rulesIn(value: unknown): readonly PodRuleInput[] {
  podRulesOf(value, "pods");
  return value as readonly PodRuleInput[];
}

function taintOf(value: unknown, index: number) {
  const where = `taints[${index}]`;
  const { key = "", value: text, effect = "" } = textFields(value, where);
  const known: Effect | undefined = effects.find((one) => one === effect);
  if (!key || !known) throw new Error(`${where} needs a key and an effect: ${effects.join(", ")}`);
  return { key, effect: known, ...(text === undefined ? {} : { value: text }) };
}
