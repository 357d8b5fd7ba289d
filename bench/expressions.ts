/**
 * Measures expressions: how long usual rules take, and how much CPU hostile ones use before they are stopped.
 * `npm run bench -- expressions`. Figures of one process, after its code is compiled.
 */
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
  process.stdout.write("hostile evaluations: ms of CPU until they stop\n");
  for (const [name, source] of Object.entries({ ...stopped, ...slow })) {
    const program = compiled(source);
    const ms = leastCpuMs(() => program.evaluate(variables, perCallLimit));
    process.stdout.write(`${ms.toFixed(1).padStart(8)}  ${name}\n`);
  }
  process.stdout.write("hostile expressions: ms of CPU until they are refused\n");
  for (const [name, [source]] of Object.entries(refused)) {
    const ms = leastCpuMs(() => compile(environment, source));
    process.stdout.write(`${ms.toFixed(1).padStart(8)}  ${name}\n`);
  }
}

function compiled(source: string): Program {
  const result = compile(environment, source);
  if (!result.program) throw new Error(result.message);
  return result.program;
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
