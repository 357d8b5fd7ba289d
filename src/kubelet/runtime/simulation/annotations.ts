import { parseQuantity, quantityMilliValue, quantityValue } from "#api/meta/quantity.ts";
import type { Behaviour } from "./behaviour.ts";

/** Annotations with this prefix say what the programs of a simulated pod do. */
export const simulatedPrefix = "simulated.orlop.dev/";

export const exitAfterAnnotation = `${simulatedPrefix}exit-after-ms`;
export const exitCodeAnnotation = `${simulatedPrefix}exit-code`;

type Read = (text: string, all: Readonly<Record<string, string>>) => Behaviour;

const readers: Readonly<Record<string, Read>> = {
  "exit-after-ms": (text, all) => ({
    exit: { afterMs: wholeNumber(text, maxMs), exitCode: wholeNumber(all[exitCodeAnnotation] ?? "0", 255) },
  }),
  "exit-code": (text, all) => {
    wholeNumber(text, 255);
    if (all[exitAfterAnnotation] === undefined) throw new Error(`it needs ${exitAfterAnnotation} too`);
    return {};
  },
  "start-delay-ms": (text) => ({ delays: { startMs: wholeNumber(text, maxMs) } }),
  "fail-sandbox": (sandbox, all) => ({ fail: { ...failStart(all), sandbox } }),
  "fail-start": (_, all) => ({ fail: failStart(all) }),
  logs: (text) => {
    const lines = text.replace(/\n$/, "").split("\n", maxLines + 1);
    if (lines.length > maxLines) throw new Error(`it has more than ${maxLines} lines`);
    return { logs: lines.map((line) => ({ text: line })) };
  },
  "exec-output": (stdout, all) => ({
    exec: [{ stdout, exitCode: wholeNumber(all[`${simulatedPrefix}exec-exit-code`] ?? "0", 255) }],
  }),
  "exec-exit-code": (text, all) => ({
    exec: [{ stdout: all[`${simulatedPrefix}exec-output`] ?? "", exitCode: wholeNumber(text, 255) }],
  }),
  "port-answer": (body) => ({ ports: [{ body }] }),
  cpu: (text, all) => ({ usage: usageOf(text, all[`${simulatedPrefix}memory`] ?? "0") }),
  memory: (text, all) => ({ usage: usageOf(all[`${simulatedPrefix}cpu`] ?? "0", text) }),
  probes: (text) => ({ probes: oneOf(text, { succeed: true, fail: false }) }),
};

/** Throws if an annotation with the prefix is unknown or wrong: one that is ignored makes a test pass for no reason. */
export function annotatedBehaviour(annotations: Readonly<Record<string, string>>): Behaviour {
  let behaviour = known.get(annotations);
  if (!behaviour) {
    behaviour = readAnnotations(annotations);
    known.set(annotations, behaviour);
  }
  return behaviour;
}
/** Every probe and every look at the usage asks again. */
const known = new WeakMap<Readonly<Record<string, string>>, Behaviour>();

function readAnnotations(annotations: Readonly<Record<string, string>>): Behaviour {
  const found: Behaviour[] = [];
  for (const [key, text] of Object.entries(annotations)) {
    if (!key.startsWith(simulatedPrefix)) continue;
    const name = key.slice(simulatedPrefix.length);
    const read = Object.hasOwn(readers, name) ? readers[name] : undefined;
    if (!read) throw new Error(`there is no annotation ${JSON.stringify(key)}: use ${Object.keys(readers).join(", ")}`);
    try {
      found.push(read(text, annotations));
    } catch (error) {
      throw new Error(`the annotation ${key} is wrong: ${error instanceof Error ? error.message : ""}`, {
        cause: error,
      });
    }
  }
  return found.length === 0 ? nothing : Object.assign({}, ...found);
}

const nothing: Behaviour = {};
const maxMs = 2 ** 31 - 1;
const maxLines = 10_000;

const failStart = (all: Readonly<Record<string, string>>): { start?: string } => {
  const start = all[`${simulatedPrefix}fail-start`];
  return start === undefined ? {} : { start };
};

function wholeNumber(text: string, max: number): number {
  const value = Number(text);
  if (/^\d{1,10}$/.test(text) && value <= max) return value;
  throw new Error(`${JSON.stringify(text)} is not a whole number from 0 to ${max}`);
}

function usageOf(cpu: string, memory: string) {
  for (const text of [cpu, memory]) parseQuantity(text);
  return { cpuMillis: quantityMilliValue(cpu), memoryBytes: quantityValue(memory) };
}

function oneOf<T>(text: string, all: Readonly<Record<string, T>>): T {
  const value = Object.hasOwn(all, text) ? all[text] : undefined;
  if (value !== undefined) return value;
  throw new Error(`${JSON.stringify(text)} is none of ${Object.keys(all).join(", ")}`);
}
