import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { makeTempDir } from "./support/server.ts";

const root = path.resolve(import.meta.dirname, "..");
const dir = makeTempDir();
after(() => rmSync(dir, { recursive: true, force: true }));

/** Writes the address of every module that the process loads to a file, and of those before it serves to another. */
const recorder = `import { registerHooks } from "node:module";
import { writeFileSync } from "node:fs";
const loaded = [];
registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
process.on("exit", () => writeFileSync(process.env.LOADED, loaded.join("\\n")));
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (text, ...rest) => {
  if (String(text).includes("serving")) writeFileSync(process.env.LOADED + ".first", loaded.join("\\n"));
  return write(text, ...rest);
};
`;

/** What a server without further flags does not use. Loading it would make every start slower and larger. */
const lazy = [
  "node_modules/",
  "src/cel",
  "src/client/webhook/",
  "src/kubelet/",
  "src/server/aggregation/forward.ts",
  "src/server/aggregation/open-aggregator.ts",
  "src/server/audit/",
  "src/server/authenticate/oidc/",
  "src/server/custom/conversion/",
  "src/server/encrypt/kms/",
  "src/server/extension/connections.ts",
  "src/server/usage/",
  "src/server/webhook/",
  "src/store/etcd/",
  "src/why/",
];

/** What is loaded once clients are served. Loading it before would make them wait. */
const late = ["src/controllers/all.ts", "src/controllers/job/", "src/scheduler/scheduler.ts"];

test("a server loads only what it uses", async () => {
  const hook = path.join(dir, "record.mjs");
  const list = path.join(dir, "loaded");
  writeFileSync(hook, recorder);
  const server = [
    "src/bin/orlop.ts",
    "server",
    "--store",
    "memory",
    "--port",
    "0",
    "--data-dir",
    path.join(dir, "data"),
  ];
  const args = ["--disable-warning=ExperimentalWarning", "--import", hook, ...server];
  const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, LOADED: list, ORLOP_SOURCES: "1" } });
  for await (const chunk of child.stdout) if (String(chunk).includes("serving")) break;
  child.kill("SIGTERM");
  await once(child, "exit");

  const loaded = readFileSync(list, "utf8").split("\n");
  const first = readFileSync(`${list}.first`, "utf8").split("\n");
  const among = (urls: readonly string[], parts: readonly string[]) =>
    urls.filter((url) => parts.some((part) => url.startsWith(`file://${root}/${part}`)));
  assert(first.some((url) => url.includes("src/server/server.ts")));
  assert.deepEqual(among(loaded, lazy), []);
  assert.deepEqual(among(first, late), []);
});
