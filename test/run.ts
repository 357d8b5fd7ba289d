/**
 * `npm test`: checks, then every test file, a few at a time. Files test/*.machine.test.ts run alone afterwards, because they
 * need the machine (a node's network, a full disk) for themselves.
 */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import path from "node:path";
import { installPackages } from "#cli/packages.ts";

const root = path.resolve(import.meta.dirname, "..");
const bin = (name: string): string => path.join(root, "node_modules", ".bin", name);

function step(title: string, command: string, args: readonly string[]): void {
  process.stdout.write(`\n# ${title}\n`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit" });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

const only = process.argv.slice(2);
const find = (pattern: string): string[] => globSync(pattern, { cwd: root }).sort();
const machine = find("test/*.machine.test.ts");
const parallel =
  only.length > 0
    ? only
    : [...find("src/**/*.test.ts"), ...find("test/**/*.test.ts")].filter((file) => !machine.includes(file));
const serial = only.length > 0 ? [] : machine;
const testArgs = (files: readonly string[], concurrency: number): string[] => [
  "--disable-warning=ExperimentalWarning",
  "--test",
  `--test-concurrency=${concurrency}`,
  "--test-timeout=600000",
  ...files,
];

if (process.getuid?.() === 0) await installPackages((text) => process.stdout.write(`# ${text}\n`));
if (only.length === 0) {
  step("format and lint", bin("biome"), ["check", "--error-on-warnings", "."]);
  step("types", bin("tsc"), []);
}
step("tests", process.execPath, testArgs(parallel, 2));
if (serial.length > 0) step("tests that need the machine", process.execPath, testArgs(serial, 1));
