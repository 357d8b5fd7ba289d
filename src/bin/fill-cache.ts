import { resolveModules } from "#lib/process/resolve-modules.ts";

// Compiles every module once, when Orlop is installed, so that not even the first start has to.
resolveModules(new URL("..", import.meta.url).href);
const { commands } = await import("#cli/main.ts");
await Promise.all([...Object.values(commands).map(({ load }) => load()), import("#store/sqlite-worker.ts")]);
