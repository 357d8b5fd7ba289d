import v8 from "node:v8";
import vm from "node:vm";

type Collect = (options: { type: "major"; execution: "async"; flavor: "regular" | "last-resort" }) => Promise<void>;
let collect: Collect | undefined;

/**
 * Asks V8 for a full collection soon. Otherwise it waits for new allocations, so an idle process keeps the garbage of
 * its last busy minute.
 */
export const collectGarbage = (): Promise<void> => run("regular");

/** A collection of a larger heap would block for too long. */
const maxShrunkBytes = 40 << 20;

/**
 * Collects at least twice and shrinks the young generation too, which otherwise keeps its largest size. For a process
 * that has just started: a heap that is already full of objects is left alone.
 */
export async function shrinkHeap(): Promise<void> {
  if (process.memoryUsage().heapUsed <= maxShrunkBytes) await run("last-resort");
}

async function run(flavor: "regular" | "last-resort"): Promise<void> {
  if (!collect) {
    v8.setFlagsFromString("--expose-gc");
    collect = vm.runInNewContext("gc") as Collect;
  }
  await collect({ type: "major", execution: "async", flavor });
}
