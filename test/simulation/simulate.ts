/** Runs the stories of some seeds, one after the other, in a thread of its own: the test runner watches every promise. */
import { parentPort, workerData } from "node:worker_threads";
import { testLog } from "#testing/test-log.ts";
import { Story } from "./story.ts";
import { startWorld } from "./world.ts";

export interface Outcome {
  readonly seed: number;
  /** undefined: all went well. */
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
