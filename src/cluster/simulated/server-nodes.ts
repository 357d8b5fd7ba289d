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
import type { ControlPlane } from "../control-plane.ts";
import { provisionerUser } from "../identities.ts";
import { createSimulatedNodes, type SimulationOptions } from "./simulated-nodes.ts";

/** A file about simulated nodes that cannot be used. */
export class SimulationFileError extends Error {
  override readonly name = "ConfigFileError";
}

/** Nodes of a server whose pods exist only as state, and the volumes of these pods. */
export function simulatedNodeTasks(
  plane: ControlPlane,
  count: number,
  deps: { readonly clock: Clock; readonly log: Log; readonly random: Random; readonly simulation?: SimulationOptions },
): readonly Task[] {
  const { clock, log, random, simulation } = deps;
  const { informers, recorder } = plane.api;
  const clientFor = plane.clientFor.bind(plane);
  const nodes = createSimulatedNodes(count, { informers, recorder, clock, log, random, clientFor }, simulation);
  const own = new Set(nodes.map(({ name }) => name));
  const volumes = { serves: (node: string) => own.has(node), directories: simulatedDirectories };
  const base = { informers, recorder, clock, log, client: clientFor(provisionerUser) };
  return [...nodes.map(({ run }) => run), (signal) => runProvisioner(volumes, base, signal)];
}

/** What a file says about simulated nodes: `capacity`, `labels`, `zones`, `taints`, `delays` and `failingImages`. */
export async function readSimulation(file: string): Promise<SimulationOptions> {
  try {
    const { value } = await parseYaml(await readFile(file, "utf8"));
    return simulationOf(value);
  } catch (error) {
    throw new SimulationFileError(`${file}: ${messageOf(error)}`, { cause: error });
  }
}

const delayNames = ["sandboxMs", "pullMs", "startMs", "stopMs"] as const;
const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;
type Effect = (typeof effects)[number];

function simulationOf(value: unknown): SimulationOptions {
  const file = fields(value ?? {}, "the file", ["capacity", "labels", "zones", "taints", "delays", "failingImages"]);
  const capacity = textFields(file.capacity ?? {}, "capacity");
  for (const [name, amount] of Object.entries(capacity)) checked(`capacity.${name}`, () => parseQuantity(amount));
  const labels = textFields(file.labels ?? {}, "labels");
  const failing = new Set(texts(file.failingImages ?? [], "failingImages"));
  return {
    ...(file.capacity === undefined ? {} : { capacity: { pods: "110", ...capacity } }),
    labels: () => labels,
    zones: texts(file.zones ?? [], "zones"),
    taints: list(file.taints ?? [], "taints").map(taintOf),
    delays: delaysOf(file.delays ?? {}),
    hooks: {
      pullImage(name) {
        if (failing.has(name)) throw new Error(`failed to resolve reference "${name}": not found`);
      },
    },
  };
}

function taintOf(value: unknown, index: number) {
  const where = `taints[${index}]`;
  const { key = "", value: text, effect = "" } = textFields(value, where);
  const known: Effect | undefined = effects.find((one) => one === effect);
  if (!key || !known) throw new Error(`${where} needs a key and an effect: ${effects.join(", ")}`);
  return { key, effect: known, ...(text === undefined ? {} : { value: text }) };
}

function delaysOf(value: unknown): Record<string, number> {
  const given = Object.entries(fields(value, "delays", delayNames));
  return Object.fromEntries(
    given.map(([name, ms]) => {
      if (typeof ms === "number" && ms >= 0) return [name, ms];
      throw new Error(`delays.${name} must be milliseconds, not ${JSON.stringify(ms)}`);
    }),
  );
}

function checked(where: string, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    throw new Error(`${where}: ${messageOf(error)}`, { cause: error });
  }
}

function fields(value: unknown, where: string, names?: readonly string[]): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${where} must be an object`);
  const wrong = names && Object.keys(value).find((name) => !names.includes(name));
  if (wrong !== undefined) throw new Error(`${where} has no field ${JSON.stringify(wrong)}: use ${names?.join(", ")}`);
  return value as Record<string, unknown>;
}

function textFields(value: unknown, where: string): Record<string, string> {
  const all = fields(value, where);
  const wrong = Object.entries(all).find(([, text]) => typeof text !== "string");
  if (wrong) throw new Error(`${where}.${wrong[0]} must be a string, not ${JSON.stringify(wrong[1])}`);
  return all as Record<string, string>;
}

function list(value: unknown, where: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error(`${where} must be a list`);
}

const texts = (value: unknown, where: string): readonly string[] =>
  list(value, where).map((text) => {
    if (typeof text === "string") return text;
    throw new Error(`${where} must be a list of strings, not of ${JSON.stringify(text)}`);
  });
