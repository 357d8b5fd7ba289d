import path from "node:path";
import { isBuilt, openModules } from "../lib/bundle/open-modules.ts";

const source = path.resolve(import.meta.dirname, "..");
const args = process.argv.slice(2);
const { ORLOP_SOURCES, ORLOP_REFRESH } = process.env;
// A short command needs few modules, which are loaded faster one by one.
const usesBundle = !ORLOP_SOURCES && (args[0] === "server" || args.includes("--foreground"));
const modules = usesBundle ? openModules(source, args[0] === "server" ? "server" : "node") : undefined;

if (modules) {
  const { start } = modules.load(
    `cli/start/start${path.extname(import.meta.filename)}`,
  ) as typeof import("#cli/start/start.ts");
  await start(args, modules.keepCode);
} else {
  const { resolveModules } = await import("../lib/process/resolve-modules.ts");
  resolveModules(new URL("..", import.meta.url).href);
  const { start } = await import("#cli/start/start.ts");
  const { refreshBundle } = await import("../lib/bundle/refresh.ts");
  await start(args, () => {
    if (usesBundle && ORLOP_REFRESH && !isBuilt(source)) refreshBundle(path.dirname(source));
  });
}
