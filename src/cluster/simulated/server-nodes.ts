import { readFile } from "node:fs/promises";
import { parseQuantity } from "#api/meta/quantity.ts";
import type { Clock } from "#lib/async/clock.ts";
import type { Task } from "#lib/async/tasks.ts";
import { isObject } from "#lib/data/json-object.ts";
import type { Random } from "#lib/data/random.ts";
import type { Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { simulatedDirectories } from "#provisioner/directories.ts";
import { runProvisioner } from "#provisioner/provisioner.ts";
import type { ReportingNodes } from "#server/usage/read-kubelet.ts";
import type { ControlPlane } from "../control-plane.ts";
import { provisionerUser } from "../identities.ts";
import { localNodesOf } from "./local-nodes.ts";
import { delaysOf, type PodRuleInput, podRulesOf } from "./pod-rules.ts";
import { checked, fields, list, textFields, texts } from "./read-fields.ts";
import { createSimulatedNodes, type SimulatedNode, type SimulationOptions } from "./simulated-nodes.ts";
import { type LoadedStages, loadStages } from "./stages/load-stages.ts";
import { documentsIn, type YamlDocument } from "./yaml-documents.ts";

/** A file about simulated nodes that cannot be used. */
export class SimulationFileError extends Error {
  override readonly name = "ConfigFileError";
}

/** The simulated nodes of a server. The server has to know them before it starts, and they need the server to run. */
export interface ServerNodes {
  readonly localNodes: ReportingNodes;
  /** Runs the nodes, and the volumes of their pods. */
  tasks(plane: ControlPlane, deps: ServerNodeDeps): readonly Task[];
}

export interface ServerNodeDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
}

export async function createServerNodes(count: number, simulation: SimulationOptions): Promise<ServerNodes> {
  const nodes: SimulatedNode[] = [];
  const stages = await loadStages(simulation);
  return {
    localNodes: localNodesOf(nodes),
    tasks: (plane, deps) => startNodes(plane, { ...deps, count, simulation, nodes, stages }),
  };
}

function startNodes(
  plane: ControlPlane,
  deps: ServerNodeDeps & {
    readonly count: number;
    readonly simulation: SimulationOptions;
    readonly nodes: SimulatedNode[];
    readonly stages: LoadedStages | undefined;
  },
): readonly Task[] {
  const { clock, log, random, simulation, nodes, count, stages } = deps;
  const { informers, recorder, resources: kinds } = plane.api;
  const clientFor = plane.clientFor.bind(plane);
  const shared = { informers, recorder, clock, log, random, clientFor };
  nodes.push(...createSimulatedNodes(count, { ...shared, ...(stages ? { staged: stages.staged } : {}) }, simulation));
  const own = new Set(nodes.map(({ name }) => name));
  const volumes = { serves: (node: string) => own.has(node), directories: simulatedDirectories };
  const base = { informers, recorder, clock, log, client: clientFor(provisionerUser) };
  return [
    ...nodes.map(({ run }) => run),
    (signal) => runProvisioner(volumes, base, signal),
    ...(stages ? [stages.task({ ...shared, kinds }, nodes)] : []),
  ];
}

/**
 * What a file says about simulated nodes: `capacity`, `labels`, `zones`, `taints`, `delays`, `failingImages` and `pods`. Further
 * documents are stages.
 */
export async function readSimulation(file: string): Promise<SimulationOptions> {
  try {
    const documents = await documentsIn(await readFile(file, "utf8"));
    const isStage = ({ value }: YamlDocument): boolean => isObject(value) && Object.hasOwn(value, "kind");
    const [settings, another] = documents.filter((one) => !isStage(one));
    if (another) throw new Error(`${another.where}: there is more than one document that is not a Stage`);
    const simulation = simulationOf(settings?.value ?? {});
    const stages = documents.filter(isStage).map(({ value }) => value as Record<string, unknown>);
    if (stages.length === 0) return simulation;
    // What is wrong with them is said with the name of the file.
    await loadStages({ ...(settings?.value as SimulationOptions | undefined), stages });
    return { ...simulation, stages };
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
    ...(failing.size > 0 ? { hooks: failingPulls(failing) } : {}),
  };
}

const failingPulls = (images: ReadonlySet<string>): NonNullable<SimulationOptions["hooks"]> => ({
  pullImage(name) {
    if (images.has(name)) throw new Error(`failed to resolve reference "${name}": not found`);
  },
});

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
