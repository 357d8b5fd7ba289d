import { Node } from "#api/core/node.ts";
import { type Clock } from "#lib/async/clock.ts";
import { aborted } from "#lib/async/tasks.ts";
import { writeStandardError } from "#lib/process/log.ts";
import { isStandardError, openLogFile } from "#lib/process/log-file.ts";
import { type Informers } from "#runtime/informer.ts";
import { logFile } from "../data-dir.ts";
import { type progressWriter } from "../progress.ts";

/** In the background, standard error is the log file in the data directory, and its size must stay bounded. */
export function logWriter(dataDir: string): (line: string) => void {
  const file = logFile(dataDir);
  return isStandardError(file) ? openLogFile(file) : writeStandardError;
}

/** Something that users need besides the nodes. */
export interface FurtherPart {
  readonly what: string;
  readonly isReady: Promise<void>;
}

interface Reporting {
  readonly progress: ReturnType<typeof progressWriter>;
  readonly sinceMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly further?: FurtherPart | undefined;
}

/** How long the command waits for the further part. Somebody else's definitions may never be served. */
const furtherMs = 30_000;

/** Reports once that the nodes accept pods, and that the further part can be used. */
export async function reportReady(
  informers: Informers,
  names: readonly string[],
  { progress, sinceMs, signal, clock, further }: Reporting,
): Promise<void> {
  const waiting = new Set(names);
  const areReady = Promise.withResolvers<void>();
  const only = names.length === 1 ? { fieldSelector: `metadata.name=${names[0]}` } : {};
  const stop = informers.of(Node, only).subscribe(({ type, object }) => {
    const { name } = object.metadata;
    if (type !== "put" || !waiting.has(name) || !isReadySince(object, sinceMs)) return;
    waiting.delete(name);
    progress(`node ${name} is Ready`, waiting.size === 0 && !further ? "ready" : "doing");
    if (waiting.size === 0) areReady.resolve();
  });
  await Promise.race([areReady.promise, aborted(signal)]);
  stop();
  if (further && !signal.aborted) await reportFurther(further, { progress, signal, clock });
  await aborted(signal);
}

async function reportFurther(
  { what, isReady }: FurtherPart,
  { progress, signal, clock }: Pick<Reporting, "progress" | "signal" | "clock">,
): Promise<void> {
  const inTime = await Promise.race([isReady.then(() => true), clock.sleep(furtherMs, signal).then(() => false)]);
  progress(inTime ? `${what} can be used` : `${what} cannot be used yet: see the log`, "ready");
}

/** Conditions that an earlier kubelet wrote do not count. Heartbeats are in whole seconds. */
export function isReadySince({ status }: Pick<Node, "status">, sinceMs: number): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" && Date.parse(ready.lastHeartbeatTime ?? "") >= sinceMs - (sinceMs % 1000);
}
