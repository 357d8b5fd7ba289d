import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { pythonWith } from "./support/python.ts";
import { makeTempDir } from "./support/server.ts";

const root = path.resolve(import.meta.dirname, "..");
const isThere = (command: string): boolean => spawnSync(command, ["--help"]).error === undefined;
const tests: readonly { readonly folder: string; readonly command: string; readonly args: readonly string[] }[] = [
  {
    folder: "pytest",
    command: pythonWith("pytest") ?? "pytest",
    args: ["-m", "pytest", "-q", "-p", "no:cacheprovider"],
  },
  { folder: "go", command: "go", args: ["test", "-count=1", "./..."] },
];

for (const { folder, command, args } of tests) {
  const missing = [command, "kubectl"].find((one) => !isThere(one));
  test(`the example for ${folder} passes`, { skip: missing ? `${missing} is not installed` : false }, () => {
    const env = {
      ...process.env,
      ORLOP: path.join(root, "orlop"),
      PYTHONDONTWRITEBYTECODE: "1",
      KUBECACHEDIR: makeTempDir(),
    };
    const cwd = path.join(root, "examples/tests", folder);

    const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: "utf8" });

    assert.equal(status, 0, stdout + stderr);
  });
}
