import { execFileSync } from "node:child_process";
import path from "node:path";
import { resolveModules } from "#lib/process/resolve-modules.ts";

// Compiles every module when Orlop is installed, so that the first start is fast too.
resolveModules(new URL("..", import.meta.url).href);
const { commands } = await import("#cli/main.ts");
await Promise.all([...Object.values(commands).map(({ load }) => load()), import("#store/sqlite-worker.ts")]);
const prepare = path.resolve(import.meta.dirname, "../../package/prepare.ts");
execFileSync(process.execPath, ["--disable-warning=ExperimentalWarning", prepare], { stdio: "inherit" });
