/** Runs the stories of some seeds in a thread, because the test runner follows every promise of its own. */
import { parentPort, workerData } from "node:worker_threads";
import { testLog } from "#testing/test-log.ts";
import { Story } from "./story.ts";
import { startWorld } from "./world.ts";

export interface Outcome {
  readonly seed: number;
  /** Undefined if it passed. */
  readonly fault: string | undefined;
}

async function faultOf(seed: number): Promise<string | undefined> {
  const log = testLog();
  try {
    await using world = await startWorld(seed, log);
    await new Story(world, log).tell();
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}

const { seeds } = workerData as { readonly seeds: readonly number[] };
for (const seed of seeds) {
  const outcome: Outcome = { seed, fault: await faultOf(seed) };
  parentPort?.postMessage(outcome);
}
