/**
 * Node's own timers, as they were when this module was loaded. Test runners may replace the global ones with fakes, which
 * stand still: a cluster that waited for one of those would wait for ever.
 */
export const {
  setTimeout: realSetTimeout,
  clearTimeout: realClearTimeout,
  setImmediate: realSetImmediate,
  queueMicrotask: realQueueMicrotask,
} = globalThis;

const { now } = Date;
const { performance: own } = globalThis;
const fine = own.now.bind(own);
const { timeOrigin } = own;

export const realNow = (): number => now();
/** Milliseconds since the start of the process, with fractions. */
export const realFineNow = (): number => fine();
export const realTimeOrigin: number = timeOrigin;
