/**
 * Measures expressions: how long usual rules take, and how much CPU hostile ones use before they are stopped, when V8 has
 * compiled the code and as the first one in a process. `npm run bench -- expressions`.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { compile, type Program } from "#cel/compile.ts";
import { perCallLimit } from "#cel-kubernetes/environment.ts";
import { environment, refused, slow, stopped, variables } from "#cel-kubernetes/hostile.suite.ts";

const rules = [
  "self.numbers.size() >= 3",
  "has(self.texts) && self.texts[0].startsWith('text')",
  "self.texts[0] in ['text0', 'text1']",
  "self.texts[0].matches('^[a-z0-9]+$')",
  "[1, 2, 3].all(x, x > 0)",
];
const runs = 50_000;

export async function runExpressions(): Promise<void> {
  process.stdout.write("usual rules: ns of CPU for one evaluation\n");
  for (const source of rules) {
    const program = compiled(source);
    const nanos = (leastCpuMs(() => repeat(runs, () => program.evaluate(variables, perCallLimit))) * 1e6) / runs;
    process.stdout.write(`${nanos.toFixed(0).padStart(8)}  ${source}\n`);
  }
  process.stdout.write("hostile evaluations: ms of CPU until they stop, compiled and as the first one\n");
  for (const [name, source] of Object.entries({ ...stopped, ...slow })) {
    const program = compiled(source);
    const ms = leastCpuMs(() => program.evaluate(variables, perCallLimit));
    await printHostile(name, source, ms);
  }
  process.stdout.write("hostile expressions: ms of CPU until they are refused, compiled and as the first one\n");
  for (const [name, [source]] of Object.entries(refused)) {
    const ms = leastCpuMs(() => compile(environment, source));
    await printHostile(name, source, ms);
  }
}

function compiled(source: string): Program {
  const result = compile(environment, source);
  if (!result.program) throw new Error(result.message);
  return result.program;
}

async function printHostile(name: string, source: string, ms: number): Promise<void> {
  const firstMs = await measureFirst(source);
  process.stdout.write(`${ms.toFixed(1).padStart(8)}${firstMs.toFixed(1).padStart(8)}  ${name}\n`);
}

async function measureFirst(source: string): Promise<number> {
  const program = path.join(import.meta.dirname, "load/first-evaluation-process.ts");
  const child = fork(program, [source], { execArgv: process.execArgv });
  const [ms] = (await once(child, "message")) as [number];
  return ms;
}

function repeat(count: number, run: () => unknown): void {
  for (let index = 0; index < count; index++) run();
}

/** Of several runs the fastest: the others shared the machine or ran before their code was compiled. */
function leastCpuMs(run: () => unknown): number {
  const times = Array.from({ length: 20 }, () => {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}
