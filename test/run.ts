/**
 * `npm test` runs format, lint, types and every test file, a few processes at a time, the longest first. The tier of a file
 * says where it runs (support/tiers.ts). `npm test -- --tier unit` runs one tier, and `npm test -- FILE…` some files.
 */
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { installPackages, nodePackages } from "#cli/packages.ts";
import { runCommand } from "#lib/process/processes.ts";
import { type Job, runJobs } from "./support/jobs.ts";
import { pythonPackages } from "./support/python.ts";
import { tierOf, toTier } from "./support/tiers.ts";

const root = path.resolve(import.meta.dirname, "..");
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tier: { type: "string", multiple: true, default: [] } },
});
const wanted = values.tier.map(toTier);
const all = globSync(["src/**/*.test.ts", "test/**/*.test.ts"], { cwd: root }).sort();
const chosen = (positionals.length > 0 ? positionals : all).filter(
  (file) => wanted.length === 0 || wanted.includes(tierOf(file)),
);
const isAll = chosen.length === all.length;

/** The longest files, which start first: otherwise they would still run when all others have ended. */
const longest = [
  "test/kubectl.cluster.test.ts",
  "test/simulation/deployment.cluster.test.ts",
  "test/kill.cluster.test.ts",
  "test/package.cluster.test.ts",
  "test/fuzz.cluster.test.ts",
  "test/other-languages.cluster.test.ts",
];
for (const file of longest) if (!all.includes(file)) throw new Error(`${file} is not a test file`);

const preloaded = ["./src/bin/preload.ts", "./test/support/quiet-promises.ts", "./test/support/cpu-time.ts"];
const quiet = "--disable-warning=ExperimentalWarning";
const flags = [quiet, ...preloaded.flatMap((file) => ["--import", file])];
const bin = (name: string): string => path.join(root, "node_modules", ".bin", name);

const checks: readonly Job[] = [
  { title: "format and lint", command: bin("biome"), args: ["check", "--error-on-warnings", "."], yields: true },
  // Each checker works out the types that it needs, so several take twice the time of one. It ends before it needs to
  // collect garbage.
  { title: "types", command: "env", args: ["GOGC=off", bin("tsc"), "--checkers", "1"], yields: true },
];

/** Runs the files in one process, because most of them would take longer to start than to run. */
const together = (title: string, files: readonly string[], ...guards: readonly string[]): Job[] =>
  files.length === 0
    ? []
    : [
        {
          title,
          command: process.execPath,
          args: [...flags, ...guards, "test/support/run-together.ts", ...files],
          yields: true,
        },
      ];

function unitJobs(files: readonly string[]): Job[] {
  return together(`${files.length} files of unit tests`, files, "--import", "./test/support/unit-guard.ts");
}

/** The cluster tests of a component share a process. */
function clusterJobs(files: readonly string[]): Job[] {
  const byComponent = Map.groupBy(files, (file) => file.split("/").slice(0, 2).join("/"));
  const jobs = [...byComponent].flatMap(([folder, files]) =>
    together(`${folder}: ${files.length} files of cluster tests`, files),
  );
  return jobs.map((job) => ({ ...job, retries: isAll }));
}

function jobOf(file: string): Job {
  const job = { title: file, command: process.execPath, args: [...flags, file], retries: isAll };
  return tierOf(file) === "machine" ? { ...job, lane: "machine" } : job;
}

const isUnit = (file: string): boolean => tierOf(file) === "unit";
const isMachine = (file: string): boolean => tierOf(file) === "machine";
/** Those in `test/` start a server as a child, or take long. */
const sharesCluster = (file: string): boolean => tierOf(file) === "cluster" && file.startsWith("src/");
const alone = chosen.filter((file) => !isUnit(file) && !sharesCluster(file));
const jobs: readonly Job[] = [
  // They run one after another and mostly wait, so one of them always runs beside the others.
  ...alone.filter(isMachine).map(jobOf),
  ...longest.filter((file) => alone.includes(file)).map(jobOf),
  ...(isAll ? checks : []),
  ...unitJobs(chosen.filter(isUnit)),
  ...clusterJobs(chosen.filter(sharesCluster)),
  ...alone.filter((file) => !isMachine(file) && !longest.includes(file)).map(jobOf),
];

const say = (text: string): void => void process.stdout.write(text);
/** What the machine needs is installed meanwhile: that mostly waits for the network and the disk. */
async function prepareMachine(): Promise<void> {
  const needed = isAll ? [...nodePackages, ...pythonPackages] : nodePackages;
  if (process.getuid?.() === 0) await installPackages(needed, (text) => say(`# ${text}\n`));
  // The tests start many servers, which start faster from a bundle.
  if (isAll) await runCommand(process.execPath, [quiet, path.join(root, "package/prepare.ts")]);
}

// Tests often wait for other processes. Two more than there are processors keep all of them busy.
const most = availableParallelism() + 2;
const ready = prepareMachine();
const failed = await runJobs(jobs, { cwd: root, together: most, timeoutMs: 1_200_000, ready, say });
if (failed.length > 0) {
  say(`failed: ${failed.join(", ")}\n`);
  process.exitCode = 1;
}
