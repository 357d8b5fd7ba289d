import { resolveModules } from "#lib/process/resolve-modules.ts";

// Compiles every module when Orlop is installed, so that the first start is fast too.
resolveModules(new URL("..", import.meta.url).href);
const { commands } = await import("#cli/main.ts");
await Promise.all([...Object.values(commands).map(({ load }) => load()), import("#store/sqlite-worker.ts")]);
