import { parseQuantity, quantityMilliValue, quantityValue } from "#api/meta/quantity.ts";
import type { CommandAnswer, LogEntry, PodRule, PortAnswer } from "#kubelet/runtime/simulation/behaviour.ts";
import type { SimulatedUsage, SimulationDelays } from "#kubelet/runtime/simulation.ts";
import {
  checked,
  fields,
  list,
  milliseconds,
  oneOf,
  readFields,
  text,
  textFields,
  texts,
  wholeNumber,
} from "./read-fields.ts";

/** A rule as people write it, in a file or in options. */
export interface PodRuleInput extends Omit<PodRule, "usage" | "probes" | "exit" | "logs"> {
  readonly exit?: {
    readonly afterMs?: number;
    readonly exitCode?: number;
    readonly reason?: string;
    readonly message?: string;
  };
  readonly logs?: readonly (string | LogEntry)[];
  /** Quantities: `100m`, `64Mi`. */
  readonly usage?: { readonly cpu?: string; readonly memory?: string };
  readonly probes?: "succeed" | "fail";
}

/** Reads what pods do, from a file or from options. Throws an error that names the place of a fault. */
export const podRulesOf = (value: unknown, where: string): readonly PodRule[] =>
  list(value, where).map((rule, index) => podRule(rule, `${where}[${index}]`));

const podRule = (value: unknown, where: string): PodRule =>
  readFields<Required<PodRule>>(value, where, {
    namespace: text,
    name: text,
    labels: textFields,
    container: text,
    delays: delaysOf,
    fail: (fail, at) => readFields<{ sandbox: string; start: string }>(fail, at, { sandbox: text, start: text }),
    exit: exitOf,
    logs: (logs, at) => list(logs, at).map((line, index) => logEntry(line, `${at}[${index}]`)),
    exec: (exec, at) => list(exec, at).map((answer, index) => commandAnswer(answer, `${at}[${index}]`)),
    ports: (ports, at) => list(ports, at).map((answer, index) => portAnswer(answer, `${at}[${index}]`)),
    usage: usageOf,
    probes: (probes, at) => oneOf(probes, at, ["succeed", "fail"]) === "succeed",
  });

export function delaysOf(value: unknown, where: string): Partial<SimulationDelays> {
  const steps = { sandboxMs: milliseconds, pullMs: milliseconds, startMs: milliseconds, stopMs: milliseconds };
  return readFields<SimulationDelays>(value, where, steps);
}

function exitOf(value: unknown, where: string) {
  const {
    afterMs = 0,
    exitCode = 0,
    ...why
  } = readFields<ExitFields>(value, where, {
    afterMs: milliseconds,
    exitCode: (code, at) => wholeNumber(code, at, { min: 0, max: 255 }),
    reason: text,
    message: text,
  });
  return { afterMs, exitCode, ...why };
}
interface ExitFields {
  readonly afterMs: number;
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
}

function logEntry(value: unknown, where: string): LogEntry {
  if (typeof value === "string") return { text: value };
  const entry = readFields<Required<LogEntry>>(value, where, {
    text,
    afterMs: milliseconds,
    everyMs: (every, at) => wholeNumber(every, at, { min: 1, max: 2 ** 31 - 1 }),
    stream: (stream, at) => oneOf(stream, at, ["stdout", "stderr"]),
  });
  return { ...entry, text: text(entry.text, `${where}.text`) };
}

const commandAnswer = (value: unknown, where: string): CommandAnswer =>
  readFields<Required<CommandAnswer>>(value, where, {
    command: texts,
    stdout: text,
    stderr: text,
    exitCode: (code, at) => wholeNumber(code, at, { min: 0, max: 255 }),
    delayMs: milliseconds,
  });

const portNumber = (value: unknown, where: string): number => wholeNumber(value, where, { min: 1, max: 65_535 });

const portAnswer = (value: unknown, where: string): PortAnswer =>
  readFields<Required<PortAnswer>>(value, where, {
    port: portNumber,
    status: (status, at) => wholeNumber(status, at, { min: 200, max: 599 }),
    body: text,
    target(target, at) {
      const { host, port } = fields(target, at, ["host", "port"]);
      return { host: text(host ?? "127.0.0.1", `${at}.host`), port: portNumber(port, `${at}.port`) };
    },
  });

function usageOf(value: unknown, where: string): SimulatedUsage {
  const { cpu = "0", memory = "0" } = readFields<{ cpu: string; memory: string }>(value, where, {
    cpu: quantity,
    memory: quantity,
  });
  return { cpuMillis: quantityMilliValue(cpu), memoryBytes: quantityValue(memory) };
}

function quantity(value: unknown, where: string): string {
  const amount = text(value, where);
  checked(where, () => parseQuantity(amount));
  return amount;
}
