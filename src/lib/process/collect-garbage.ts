import v8 from "node:v8";
import vm from "node:vm";

let collect: ((options: { type: "major"; execution: "async" }) => Promise<void>) | undefined;

/**
 * Asks V8 for a full collection soon. It waits for new allocations otherwise, so a process that has nothing to do keeps
 * the garbage of its last busy minute.
 */
export function collectGarbage(): void {
  if (!collect) {
    v8.setFlagsFromString("--expose-gc");
    collect = vm.runInNewContext("gc");
  }
  void collect?.({ type: "major", execution: "async" });
}
