/** Evaluates an expression as the first one in this process, and sends the ms of CPU. Those of compiling it, if it is refused. */
import { compile } from "#cel/compile.ts";
import { perCallLimit } from "#cel-kubernetes/environment.ts";
import { environment, variables } from "#cel-kubernetes/hostile.suite.ts";

const [source = ""] = process.argv.slice(2);
let before = process.threadCpuUsage();
const { program } = compile(environment, source);
if (program) {
  before = process.threadCpuUsage();
  program.evaluate(variables, perCallLimit);
}
const { user, system } = process.threadCpuUsage(before);
process.send?.((user + system) / 1000, () => process.exit());
