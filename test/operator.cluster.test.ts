import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { startCluster } from "#testing/start-cluster.ts";
import { pythonWith } from "./support/python.ts";
import { makeTempDir } from "./support/server.ts";

const root = path.resolve(import.meta.dirname, "..");
const examples = path.join(root, "examples/operator");
const orlop = path.join(root, "orlop");
const python = process.env.OPERATOR_PYTHON ?? pythonWith("kubernetes");
const fails = (command: string, ...args: string[]): boolean => spawnSync(command, args).status !== 0;

/** `OPERATOR_GO` is the Go operator as a program: its modules are not fetched here. */
const operators: readonly { readonly name: string; readonly command: readonly string[]; readonly missing: boolean }[] =
  [
    {
      name: "TypeScript",
      command: [orlop, "run", path.join(examples, "typescript/operator.ts")],
      missing: fails("kubectl", "version", "--client"),
    },
    {
      name: "Python",
      command: [python ?? "", path.join(examples, "python/shop_operator.py")],
      missing: python === undefined,
    },
    { name: "Go", command: [process.env.OPERATOR_GO ?? ""], missing: !process.env.OPERATOR_GO },
  ];

for (const { name, command, missing } of operators) {
  test(`the operator in ${name} works against cluster.listen()`, { skip: missing }, async () => {
    await using cluster = await startCluster({ nodes: 2 });
    const { kubeconfigFile } = await cluster.listen();
    const env = { ...process.env, KUBECONFIG: kubeconfigFile, KUBECACHEDIR: makeTempDir() };
    const args = ["run", path.join(examples, "check.ts"), "--", ...command];

    const { stdout } = await promisify(execFile)(orlop, args, { env, timeout: 100_000 });

    assert.match(stdout, /a shop opened, grew and closed/);
  });
}
