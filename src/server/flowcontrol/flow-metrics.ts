import { type Histogram, type Metrics, type ReadFamily, type ReadHistograms } from "#lib/process/metrics.ts";
import { type FlowControl } from "./flow-control.ts";
import { type Level } from "./level.ts";
import { type Tally, type Ticket } from "./queues/ticket.ts";
import { kinds, phases, usageBuckets } from "./usage-times.ts";

const prefix = "apiserver_flowcontrol_";
const ofFlow = ["priority_level", "flow_schema"];
const ofLevel = ["priority_level"];
const seconds = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];

/** Upstream's metrics. Counts are kept where they arise and read at every scrape. */
export class FlowMetrics {
  readonly #metrics: Metrics;
  readonly #queueLength: Histogram;
  readonly #waitSeconds: Histogram;
  readonly #executionSeconds: Histogram;
  readonly #seats: Histogram;
  readonly #watchers: Histogram;
  readonly #flows = new WeakMap<Tally, FlowHistograms>();

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
    const histogram = (name: string, help: string, labels: readonly string[], buckets: readonly number[]): Histogram =>
      metrics.histogram(prefix + name, help, { labels, buckets });
    this.#queueLength = histogram(
      "request_queue_length_after_enqueue",
      "How many requests waited in the queue of a request that had to wait.",
      ofFlow,
      [0, 10, 25, 50, 100, 250, 500, 1000],
    );
    const wait = "How long requests waited in their queues.";
    this.#waitSeconds = histogram("request_wait_duration_seconds", wait, [...ofFlow, "execute"], seconds);
    const execution = "How long requests were served; for a watch, until it started.";
    this.#executionSeconds = histogram("request_execution_seconds", execution, [...ofFlow, "type"], seconds);
    const seats = "How many seats requests were estimated to need.";
    this.#seats = histogram("work_estimated_seats", seats, ofFlow, [1, 2, 4, 8, 16, 32, 64, 100]);
    const watchers = "How many watches were to get the event of a write.";
    this.#watchers = histogram("watch_count_samples", watchers, ofFlow, [0, 1, 10, 100, 1000, 10_000]);
  }

  /** A request has its seats, or waits for them. */
  arrived(tally: Tally, ticket: Ticket): void {
    const seen = this.#of(tally);
    seen.seats(ticket.seats);
    const { watchers } = ticket.asking.work;
    if (watchers !== undefined) seen.watchers(watchers);
    if (!ticket.queue) return;
    seen.queueLength(ticket.queue.waiting.size);
    if (ticket.hasStarted) seen.waited(0);
  }

  /** A request that had to wait got its seats, or left. */
  waited({ asking, arrivedMs, hasStarted }: Ticket, now: number): void {
    const seen = this.#of(asking.tally);
    (hasStarted ? seen.waited : seen.gaveUp)((now - arrivedMs) / 1000);
  }

  finished({ asking, startedMs }: Ticket, now: number): void {
    const seen = this.#of(asking.tally);
    (asking.info.verb === "watch" ? seen.startedWatch : seen.executed)((now - startedMs) / 1000);
  }

  #of(tally: Tally): FlowHistograms {
    const known = this.#flows.get(tally);
    if (known) return known;
    const flow = [tally.level, tally.schema];
    const flows = {
      seats: this.#seats.of(flow),
      watchers: this.#watchers.of(flow),
      queueLength: this.#queueLength.of(flow),
      waited: this.#waitSeconds.of([...flow, "true"]),
      gaveUp: this.#waitSeconds.of([...flow, "false"]),
      executed: this.#executionSeconds.of([...flow, "regular"]),
      startedWatch: this.#executionSeconds.of([...flow, "watch"]),
    };
    this.#flows.set(tally, flows);
    return flows;
  }

  /** Shows what the levels of the server hold. */
  show(control: FlowControl): void {
    const levels = () => [...control.levels.values()];
    for (const [name, help, value] of levelGauges) {
      const values = () => levels().map((level) => [[level.name], value(level)] as const);
      this.#read(name, help, { type: "gauge", labels: ofLevel, values });
    }
    for (const [name, type, help, value] of flowCounts) {
      const values = () => talliesOf(levels()).map((tally) => [[tally.level, tally.schema], value(tally)] as const);
      this.#read(name, help, { type, labels: ofFlow, values });
    }
    this.#read("rejected_requests_total", "Requests that were refused.", {
      type: "counter",
      labels: [...ofFlow, "reason"],
      values: () => talliesOf(levels()).flatMap(rejections),
    });
    this.#showTimes(control);
    for (const isDiscounted of [false, true]) {
      const name = isDiscounted ? "next_discounted_s_bounds" : "next_s_bounds";
      const start = "Least and most, over queues, of the virtual start of the next request";
      this.#read(name, isDiscounted ? `${start}, without the work in progress.` : `${start}.`, {
        type: "gauge",
        labels: ["priority_level", "bound"],
        values: () => levels().flatMap((level) => startBounds(level, isDiscounted)),
      });
    }
    const fair = "Fraction of its target that each priority level gets within its bounds.";
    this.#metrics.gauge(`${prefix}seat_fair_frac`, fair, () => control.fairFraction);
  }

  /** Histograms with a sample for every nanosecond. */
  #showTimes({ levels, kinds: { times } }: FlowControl): void {
    const caughtUp = (): Level[] => {
      for (const { set } of levels.values()) set.catchUp();
      return [...levels.values()];
    };
    const show = (name: string, help: string, family: ReadHistograms): void =>
      this.#metrics.readHistograms(prefix + name, help, family);
    show("priority_level_seat_utilization", "Part of the seats that is in use, at every nanosecond.", {
      labels: ["phase", "priority_level"],
      buckets: usageBuckets.seats,
      values: () => caughtUp().map(({ name, set }) => [["executing", name], set.times.seats.counts]),
    });
    show("priority_level_request_utilization", "Requests as a part of the limit of their phase, at every nanosecond.", {
      labels: ["phase", "priority_level"],
      buckets: usageBuckets.requests,
      values: () =>
        caughtUp().flatMap(({ name, set }) => phases.map((phase) => [[phase, name], set.times[phase].counts] as const)),
    });
    show("demand_seats", "Seats that the priority level could use as a part of those it has, at every nanosecond.", {
      labels: ofLevel,
      buckets: usageBuckets.demand,
      values: () => caughtUp().map(({ name, set }) => [[name], set.times.demand.counts]),
    });
    show(
      "read_vs_write_current_requests",
      "Reads and writes as a part of the limit of their phase, at every nanosecond.",
      {
        labels: ["phase", "request_kind"],
        buckets: usageBuckets.readVsWrite,
        values: () => {
          caughtUp();
          return phases.flatMap((phase) => kinds.map((kind) => [[phase, kind], times[phase][kind].counts] as const));
        },
      },
    );
  }

  #read(name: string, help: string, family: ReadFamily): void {
    this.#metrics.read(prefix + name, help, family);
  }
}

/** The histograms of one FlowSchema in one priority level. */
type FlowHistograms = Record<
  "seats" | "watchers" | "queueLength" | "waited" | "gaveUp" | "executed" | "startedWatch",
  (value: number) => void
>;

const talliesOf = (levels: readonly Level[]): Tally[] => levels.flatMap(({ tallies }) => [...tallies.values()]);

function startBounds({ name, set }: Level, isDiscounted: boolean): [labels: string[], value: number][] {
  const bounds = set.startBounds(isDiscounted);
  if (!bounds) return [];
  return bounds.map((value, at) => [[name, at === 0 ? "min" : "max"], value / 1000]);
}

const rejections = ({ level, schema, rejected }: Tally) =>
  Object.entries(rejected)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => [[level, schema, reason], count] as const);

const levelGauges: readonly [name: string, help: string, value: (level: Level) => number][] = [
  ["nominal_limit_seats", "Seats of the priority level by its shares.", ({ bounds }) => bounds.nominal],
  ["lower_limit_seats", "Seats that the priority level keeps when it lends.", ({ bounds }) => bounds.lower],
  ["upper_limit_seats", "Seats that the priority level can have when it borrows.", ({ bounds }) => bounds.upper],
  ["current_limit_seats", "Seats that the priority level has now.", ({ set }) => set.limit],
  ["target_seats", "Seats that the last adjustment aimed at.", ({ target }) => target],
  ["demand_seats_high_watermark", "Most seats that were needed at a time.", ({ set }) => set.demand.stats.highest],
  ["demand_seats_average", "Seats that were needed on average.", ({ set }) => set.demand.stats.average],
  ["demand_seats_stdev", "Standard deviation of the seats needed.", ({ set }) => set.demand.stats.deviation],
  ["demand_seats_smoothed", "Seats that are expected to be needed.", ({ set }) => set.demand.stats.smoothed],
  ["current_r", "Virtual time of the queues.", ({ set }) => set.virtual / 1000],
  ["dispatch_r", "Virtual time of the last start of a request.", ({ set }) => set.lastStart.at / 1000],
  ["latest_s", "Virtual start of the request that was started last.", ({ set }) => set.lastStart.planned / 1000],
];

const flowCounts: readonly [name: string, type: "counter" | "gauge", help: string, value: (tally: Tally) => number][] =
  [
    ["dispatched_requests_total", "counter", "Requests that got their seats.", ({ dispatched }) => dispatched],
    ["current_inqueue_requests", "gauge", "Requests that wait.", ({ waiting }) => waiting],
    ["current_inqueue_seats", "gauge", "Seats that waiting requests need.", ({ seatsWaiting }) => seatsWaiting],
    ["current_executing_requests", "gauge", "Requests that are served.", ({ executing }) => executing],
    ["current_executing_seats", "gauge", "Seats in use.", ({ seatsInUse }) => seatsInUse],
    [
      "request_dispatch_no_accommodation_total",
      "counter",
      "How often the next request needed more seats than were free.",
      ({ lacked }) => lacked,
    ],
  ];
