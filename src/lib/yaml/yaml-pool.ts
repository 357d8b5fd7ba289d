import { Worker } from "node:worker_threads";

/** Too many texts are waiting; the caller should retry. */
export class YamlBusyError extends Error {
  override readonly name = "YamlBusyError";
}

/** A text to parse, or a JSON text to write as YAML. */
export interface YamlJob {
  readonly task: "read" | "write";
  readonly text: string;
  /** Who sent it: one owner's texts do not delay those of others. */
  readonly owner: string;
}
/** The reply of a thread. */
export interface YamlAnswer {
  /** UTF-8: JSON of the parsed text, or the YAML that was written. */
  readonly bytes?: Uint8Array;
  /** Duplicate keys in the parsed text. */
  readonly duplicates?: readonly string[];
  readonly fault?: string;
}

interface Waiting extends YamlJob {
  settle(answer: YamlAnswer): void;
}

const maxThreads = 2;
const maxWaiting = 64;
const maxWaitingPerOwner = 8;
const maxWaitingChars = 16 << 20;
/** A text of 1 MiB with a field in every line takes about 60 MiB. */
const threadLimits = { maxOldGenerationSizeMb: 160, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };
const defaultJobMs = 10_000;
/** An idle thread ends, which frees its memory. */
const idleMs = 5000;
const tooMuch = "too long to be read: send it as JSON";

/** Parses and writes long YAML outside the event loop, with limits on threads, memory and time. */
export class YamlPool {
  readonly #threads = new Set<Thread>();
  readonly #waiting: Waiting[] = [];
  readonly #jobMs: number;
  #waitingChars = 0;

  constructor(jobMs = defaultJobMs) {
    this.#jobMs = jobMs;
  }

  run(job: YamlJob): Promise<YamlAnswer> {
    const own = this.#waiting.filter(({ owner }) => owner === job.owner).length;
    const isFull = this.#waiting.length >= maxWaiting || this.#waitingChars + job.text.length > maxWaitingChars;
    if (isFull || own >= maxWaitingPerOwner) {
      return Promise.reject(new YamlBusyError("too much YAML is being read, please try again later"));
    }
    const { promise, resolve } = Promise.withResolvers<YamlAnswer>();
    this.#waitingChars += job.text.length;
    this.#waiting.push({ ...job, settle: resolve });
    this.#next();
    return promise;
  }

  #next(): void {
    if (this.#waiting.length === 0) return;
    let thread = [...this.#threads].find(({ job }) => !job);
    if (!thread && this.#threads.size < maxThreads) {
      thread = new Thread(
        () => this.#next(),
        (ended) => this.#threads.delete(ended),
      );
      this.#threads.add(thread);
    }
    if (thread) thread.start(this.#take(), this.#jobMs);
  }

  /** The oldest job of an owner that has none running; if there is no such owner, the oldest job. */
  #take(): Waiting {
    const busy = new Set([...this.#threads].map(({ job }) => job?.owner));
    const index = Math.max(
      0,
      this.#waiting.findIndex(({ owner }) => !busy.has(owner)),
    );
    const [job] = this.#waiting.splice(index, 1);
    if (!job) throw new Error("nothing waits");
    this.#waitingChars -= job.text.length;
    return job;
  }
}

/** One worker thread and its current job. */
class Thread {
  job: Waiting | undefined;
  readonly #worker: Worker;
  readonly #onFree: () => void;
  readonly #onEnd: (thread: Thread) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(onFree: () => void, onEnd: (thread: Thread) => void) {
    this.#onFree = onFree;
    this.#onEnd = onEnd;
    this.#worker = new Worker(new URL("./yaml-thread.ts", import.meta.url), { resourceLimits: threadLimits });
    this.#worker.unref();
    this.#worker.on("message", (answer: YamlAnswer) => this.#done(answer));
    // Usually out of memory.
    this.#worker.on("error", () => this.#end());
    this.#worker.on("exit", () => this.#end());
  }

  start(job: Waiting, limitMs: number): void {
    this.job = job;
    this.#worker.ref();
    this.#worker.postMessage({ task: job.task, text: job.text });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#end(), limitMs);
  }

  #done(answer: YamlAnswer): void {
    const { job } = this;
    this.job = undefined;
    this.#worker.unref();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#end(), idleMs).unref();
    job?.settle(answer);
    this.#onFree();
  }

  #end(): void {
    const { job } = this;
    this.job = undefined;
    clearTimeout(this.#timer);
    this.#onEnd(this);
    void this.#worker.terminate();
    job?.settle({ fault: `yaml: ${tooMuch}` });
    this.#onFree();
  }
}
