import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes in buffers that are still referenced, after a garbage collection. */
export function heldBufferBytes(): number {
  // A buffer that one collection finds is subtracted only at the next.
  collect();
  collect();
  return process.memoryUsage().arrayBuffers;
}

/** The same, and the objects of the heap. */
export function heldBytes(): number {
  return heldBufferBytes() + process.memoryUsage().heapUsed;
}
