import v8 from "node:v8";
import vm from "node:vm";

type Collect = (options: { type: "major"; execution: "async"; flavor: "regular" | "last-resort" }) => Promise<void>;
let collect: Collect | undefined;

/**
 * Asks V8 for a full collection soon. It waits for new allocations otherwise, so a process that has nothing to do keeps
 * the garbage of its last busy minute.
 */
export const collectGarbage = (): Promise<void> => run("regular");

/** A larger heap would stand still for too long. */
const maxShrunkBytes = 40 << 20;

/**
 * Collects twice or more, and shrinks the nursery too, which otherwise stays as large as it ever was. For a process that
 * has just started: a heap that is already full of objects is left alone.
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
