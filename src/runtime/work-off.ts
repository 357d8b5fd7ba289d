import { isConflict } from "#api/status.ts";
import { type Log } from "#lib/process/log.ts";
import { type Work, type WorkQueue } from "./work-queue.ts";

/** When to run the same work again. */
export interface Later<C> {
  readonly afterMs: number;
  readonly cause?: C | undefined;
}

export interface Worker<C> {
  /** The reconciler's name in the log. */
  readonly name: string;
  readonly log: Log;
  /** What the log calls a run; default: reconcile. */
  readonly task?: string;
  run(work: Work<C>): Promise<Later<C> | undefined | void>;
}

/** Processes the queue until it is closed. Failed work is retried after increasing delays. */
export async function workOff<C>(queue: WorkQueue<C>, worker: Worker<C>, stop: AbortSignal): Promise<void> {
  for (let work = await queue.next(); work; work = await queue.next()) {
    const { key, cause } = work;
    try {
      const later = await worker.run(work);
      queue.forget(key);
      if (later) queue.addAfter(key, later.afterMs, later.cause);
    } catch (error) {
      if (stop.aborted) continue;
      const retryMs = queue.addFailed(key, cause);
      const { name, log, task = "reconcile" } = worker;
      // A conflict is normal: the next run starts from the newer object.
      if (isConflict(error)) log.debug(`${task} lost a race`, { reconciler: name, object: key });
      else log.warn(`${task} failed`, { reconciler: name, object: key, error, retryMs });
    } finally {
      queue.done(key);
    }
  }
}
