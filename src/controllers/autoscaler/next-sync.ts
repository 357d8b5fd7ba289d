/** Each autoscaler acts this often, whatever changes. */
const syncMs = 15_000;
/** Autoscalers act in whole seconds, so that an idle process wakes up once for all of a second and not for each of them. */
const roundMs = 1000;

/** When an autoscaler acts again. A timer that fires a little late does not shift the times after it. */
export const nextSyncMs = (nowMs: number): number => Math.round((nowMs + syncMs) / roundMs) * roundMs;
