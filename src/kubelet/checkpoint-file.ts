import { mkdir } from "node:fs/promises";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import type { PodRef } from "./server/handle.ts";

/** A name that only this pod's namespace, name and container have at this time. They contain no slashes. */
export async function checkpointFile(
  { checkpointDir, clock }: { readonly checkpointDir?: string; readonly clock: Clock },
  { namespace, name }: PodRef,
  container: string,
): Promise<string> {
  if (checkpointDir === undefined) throw new Error("this node has no directory for checkpoints");
  await mkdir(checkpointDir, { recursive: true, mode: 0o700 });
  return `${checkpointDir}/checkpoint-${name}_${namespace}-${container}-${timestamp(clock.now())}.tar`;
}
