/**
 * Runs the example suites with many seeds in one process: `npm run bench -- example-seeds --seeds 100`. Each seed gives another
 * order of events, and every suite must pass with all of them.
 */
import { readdirSync } from "node:fs";
import { registerHooks } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const folder = path.resolve(import.meta.dirname, "../examples/tests");

export async function runExampleSeeds(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: "string", default: "100" },
      from: { type: "string", default: "1" },
      only: { type: "string", default: "" },
    },
  });
  const files = readdirSync(folder).filter((file) => file.endsWith(".test.ts") && file.includes(values.only));
  passOnSeeds();
  const first = Number(values.from);
  for (let seed = first; seed < first + Number(values.seeds); seed++) {
    process.env.SEED = String(seed);
    for (const file of files) await import(`${pathToFileURL(path.join(folder, file)).href}?seed=${seed}`);
  }
}

/** A module that was imported with a seed imports its neighbours with the same one, so that each is loaded for each seed. */
function passOnSeeds(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const seed =
        context.parentURL?.startsWith(pathToFileURL(folder).href) && /\?seed=\d+$/.exec(context.parentURL)?.[0];
      return seed && found.url.startsWith(pathToFileURL(folder).href)
        ? { ...found, url: `${found.url}${seed}` }
        : found;
    },
  });
}
