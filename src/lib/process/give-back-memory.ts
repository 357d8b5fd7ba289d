import { type Clock } from "#lib/async/clock.ts";
import { runAfterStart } from "./after-start.ts";
import { collectGarbage, shrinkHeap } from "./collect-garbage.ts";

/** Whatever only the start needed is garbage when the process was idle for so long. */
const startedMs = 500;
/** A process that is busy from its start on is left to V8: after so many looks, its heap holds more than what it started with. */
const startLooks = 10;
const pauseMs = 10_000;
/** A process whose event loop was busy for a smaller share of the time has started. */
const startedShare = 0.2;
/** A process whose event loop was busy for a smaller share of the time since the last look is idle, so nobody waits for it. */
const idleShare = 0.1;
/** An idle process with so much more memory than before has garbage of a busy time. */
const grownBytes = 32 << 20;
/**
 * It collects when it was idle at so many looks in a row. A collection drops the shapes of objects of which none is alive, and
 * with them the machine code of what handles requests: the next ones cost half as much again until it is compiled anew.
 */
const idleLooks = 4;
/** The history keeps what a flood wrote for 40 to 50 s, so it may need a few more. */
const patienceMs = 12_000;
const patienceStepMs = 1000;
/** With a little work all the time, a collection of the garbage of a busy time is worth more after five minutes. */
const lightShare = 0.5;
const lightLooks = 30;
/**
 * A trim usually takes a few milliseconds, but a tenth of a second if hundreds of MiB are free in many pieces. Nothing else
 * runs meanwhile, so then a busy process waits longer for the next one.
 */
const pausePerMs = 2000;
const maxPauseMs = 50_000;

export interface Usage {
  readonly residentBytes: number;
  /** How long the event loop has been busy, or has waited for a processor, since the start. */
  readonly busyMs: number;
}

export interface MemoryDeps {
  readonly clock: Clock;
  /** Bytes that the process keeps for a while only, such as responses that a client has not read. */
  readonly heldBytes?: () => number;
  readonly shrink?: () => Promise<void>;
  readonly collect?: () => Promise<void>;
  readonly findTrim?: typeof findMallocTrim;
  readonly usage?: () => Usage;
}

/**
 * Returns unused memory to the system: once what the start took, and then periodically what a busy time left. V8 collects
 * garbage only when something allocates, and malloc keeps memory that is freed between two live blocks: after a flood of
 * small buffers up to twice what is in use.
 */
export async function giveBackMemory(deps: MemoryDeps, signal: AbortSignal): Promise<void> {
  const { clock, shrink = shrinkHeap, findTrim = findMallocTrim } = deps;
  await clock.sleep(startedMs, signal);
  if (await becomesIdle(deps, signal)) {
    runAfterStart();
    await shrink();
  }
  await clock.sleep(pauseMs, signal);
  // Not earlier: finding it takes two MiB, and a process that has just started has nothing to return.
  const keeper = new MemoryKeeper(deps, findTrim() ?? (() => {}));
  for (;;) {
    await keeper.look(signal);
    await clock.sleep(pauseMs, signal);
  }
}

/** Waits until the process is idle after its start. False if it has work to do all the time. */
async function becomesIdle({ clock, usage = ownUsage }: MemoryDeps, signal: AbortSignal): Promise<boolean> {
  for (let look = 0; look < startLooks; look++) {
    const { busyMs } = usage();
    await clock.sleep(startedMs, signal);
    if (usage().busyMs - busyMs < startedShare * startedMs) return true;
  }
  return false;
}

class MemoryKeeper {
  readonly #clock: Clock;
  readonly #collect: () => Promise<void>;
  readonly #usage: () => Usage;
  readonly #trim: () => void;
  readonly #heldBytes: () => number;
  /** What was left after the last collection. */
  #keptBytes: number;
  /** How much of that was kept only for others. What they have let go since is garbage now. */
  #keptForOthersBytes: number;
  #busyMs: number;
  #idleLooks = 0;
  #lightLooks = 0;
  #trimsAtMs = 0;

  constructor(
    { clock, collect = collectGarbage, usage = ownUsage, heldBytes = () => 0 }: MemoryDeps,
    trim: () => void,
  ) {
    this.#clock = clock;
    this.#collect = collect;
    this.#usage = usage;
    this.#trim = trim;
    this.#heldBytes = heldBytes;
    this.#keptBytes = usage().residentBytes;
    this.#keptForOthersBytes = heldBytes();
    this.#busyMs = usage().busyMs;
  }

  async look(signal: AbortSignal): Promise<void> {
    const { residentBytes, busyMs } = this.#usage();
    const share = (busyMs - this.#busyMs) / pauseMs;
    const isIdle = share < idleShare;
    const isGrown = residentBytes - this.#keptBytes + this.#letGoBytes > grownBytes;
    this.#idleLooks = isIdle ? this.#idleLooks + 1 : 0;
    this.#lightLooks = isGrown && share < lightShare ? this.#lightLooks + 1 : 0;
    const isRested = this.#idleLooks >= idleLooks || this.#lightLooks >= lightLooks;
    const collects = isGrown && isRested && (await this.#waitUntilLetGo(signal));
    if (collects) {
      await this.#collect();
      // However clients take and let go: at most once in 40 s, or in five minutes with a little work.
      this.#idleLooks = 0;
      this.#lightLooks = 0;
    }
    if (isIdle || this.#clock.now() >= this.#trimsAtMs) this.#trimNow();
    const now = this.#usage();
    this.#busyMs = now.busyMs;
    const returnedBytes = this.#keptBytes - now.residentBytes;
    if (!collects && returnedBytes <= 0) return;
    this.#keptBytes = now.residentBytes;
    if (collects) this.#keptForOthersBytes = this.#heldBytes();
    else this.#keptForOthersBytes -= Math.min(returnedBytes, this.#letGoBytes);
  }

  /** A collection too early would need a second one for what is let go soon. False if there is work to do meanwhile. */
  async #waitUntilLetGo(signal: AbortSignal): Promise<boolean> {
    if (this.#heldBytes() <= grownBytes) return true;
    const { busyMs } = this.#usage();
    let waitedMs = 0;
    for (; waitedMs < patienceMs && this.#heldBytes() > grownBytes; waitedMs += patienceStepMs) {
      await this.#clock.sleep(patienceStepMs, signal);
    }
    const isRested = this.#usage().busyMs - busyMs <= lightShare * waitedMs;
    if (!isRested) this.#idleLooks = 0;
    return isRested;
  }

  /** What others have let go since the last collection, as far as it has not been returned. */
  get #letGoBytes(): number {
    return Math.max(0, this.#keptForOthersBytes - this.#heldBytes());
  }

  #trimNow(): void {
    const start = this.#clock.now();
    this.#trim();
    const end = this.#clock.now();
    this.#trimsAtMs = end + Math.min((end - start) * pausePerMs, maxPauseMs);
  }
}

export function ownUsage(): Usage {
  return { residentBytes: process.memoryUsage.rss(), busyMs: performance.eventLoopUtilization().active };
}

/** The C library's own; undefined if it has none, or if this Node cannot call it. Then malloc alone decides. */
export function findMallocTrim(): (() => void) | undefined {
  try {
    const ffi = process.getBuiltinModule("node:ffi");
    const { functions } = ffi.dlopen(null, { malloc_trim: { arguments: ["u64"], return: "i32" } });
    return () => void functions.malloc_trim(0n);
  } catch {
    return undefined;
  }
}
