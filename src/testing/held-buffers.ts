import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes in buffers that somebody still refers to: garbage is collected first. */
export function heldBufferBytes(): number {
  // Buffers found by one collection are counted off at the next.
  collect();
  collect();
  return process.memoryUsage().arrayBuffers;
}
