import { type Clock } from "#lib/async/clock.ts";
import { type Metrics } from "#lib/process/metrics.ts";

/** What a work queue tells about its keys. */
export interface QueueMeter {
  /** The key is due; it was not before. */
  added(key: string): void;
  /** A worker has it. */
  taken(key: string): void;
  done(key: string): void;
  /** It comes again after a delay. */
  delayed(): void;
  /** The queue is closed, and its keys are dropped. */
  closed(): void;
}

const buckets = Array.from({ length: 10 }, (_, at) => Number(`1e${at - 8}`));

/** Upstream's metrics of work queues. A queue that starts again continues its counts. */
export class QueueMeters {
  readonly #meters = new Map<string, Meter>();
  readonly #nowMs: () => number;
  readonly #metrics: Metrics;

  constructor(metrics: Metrics, clock: Clock) {
    this.#metrics = metrics;
    this.#nowMs = () => clock.fine?.() ?? clock.now();
    this.#read("workqueue_depth", "gauge", "Keys that are due.", (meter) => meter.depth);
    this.#read("workqueue_adds_total", "counter", "Keys that became due.", (meter) => meter.adds);
    this.#read("workqueue_retries_total", "counter", "Keys that were delayed.", (meter) => meter.retries);
    const unfinished = "Seconds of work in progress, in sum.";
    this.#read("workqueue_unfinished_work_seconds", "gauge", unfinished, (meter) => meter.running().sum);
    const longest = "Seconds that the longest work in progress has taken.";
    this.#read("workqueue_longest_running_processor_seconds", "gauge", longest, (meter) => meter.running().longest);
  }

  of(name: string): QueueMeter {
    let meter = this.#meters.get(name);
    if (!meter) {
      meter = new Meter(this.#nowMs, {
        waited: this.#seconds("workqueue_queue_duration_seconds", "Seconds from due to taken.", name),
        worked: this.#seconds("workqueue_work_duration_seconds", "Seconds of work on a key.", name),
      });
      this.#meters.set(name, meter);
    }
    return meter;
  }

  #read(name: string, type: "counter" | "gauge", help: string, value: (meter: Meter) => number): void {
    const values = () => [...this.#meters].map(([queue, meter]) => [[queue], value(meter)] as const);
    this.#metrics.read(name, help, { type, labels: ["name"], values });
  }

  #seconds(name: string, help: string, queue: string): (seconds: number) => void {
    return this.#metrics.histogram(name, help, { labels: ["name"], buckets }).of([queue]);
  }
}

interface Histograms {
  waited(seconds: number): void;
  worked(seconds: number): void;
}

class Meter implements QueueMeter {
  adds = 0;
  retries = 0;
  readonly #nowMs: () => number;
  readonly #histograms: Histograms;
  /** When each key became due, and when its worker began. */
  readonly #due = new Map<string, number>();
  readonly #begun = new Map<string, number>();

  constructor(nowMs: () => number, histograms: Histograms) {
    this.#nowMs = nowMs;
    this.#histograms = histograms;
  }

  get depth(): number {
    return this.#due.size;
  }

  added(key: string): void {
    this.adds++;
    this.#due.set(key, this.#nowMs());
  }

  taken(key: string): void {
    const now = this.#nowMs();
    this.#histograms.waited((now - (this.#due.get(key) ?? now)) / 1000);
    this.#due.delete(key);
    this.#begun.set(key, now);
  }

  done(key: string): void {
    const begun = this.#begun.get(key);
    if (begun !== undefined) this.#histograms.worked((this.#nowMs() - begun) / 1000);
    this.#begun.delete(key);
  }

  delayed(): void {
    this.retries++;
  }

  closed(): void {
    this.#due.clear();
    this.#begun.clear();
  }

  running(): { sum: number; longest: number } {
    const now = this.#nowMs();
    let [sum, longest] = [0, 0];
    for (const begun of this.#begun.values()) {
      const seconds = (now - begun) / 1000;
      sum += seconds;
      longest = Math.max(longest, seconds);
    }
    return { sum, longest };
  }
}
