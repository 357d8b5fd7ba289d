import { type Histogram, type Metrics, type ReadFamily } from "#lib/process/metrics.ts";
import { type FlowControl } from "./flow-control.ts";
import { type Level } from "./level.ts";
import { type Tally, type Ticket } from "./queues/ticket.ts";

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
  }

  /** A request has its seats, or waits for them. */
  arrived({ level, schema }: Tally, ticket: Ticket): void {
    this.#seats.observe([level, schema], ticket.seats);
    if (ticket.queue) this.#queueLength.observe([level, schema], ticket.queue.waiting.size);
    if (ticket.hasStarted && ticket.queue) this.#waitSeconds.observe([level, schema, "true"], 0);
  }

  /** A request that had to wait got its seats, or left. */
  waited({ asking, arrivedMs, hasStarted }: Ticket, now: number): void {
    const { level, schema } = asking.tally;
    this.#waitSeconds.observe([level, schema, String(hasStarted)], (now - arrivedMs) / 1000);
  }

  finished({ asking, startedMs }: Ticket, now: number): void {
    const { tally, info } = asking;
    const type = info.verb === "watch" ? "watch" : "regular";
    this.#executionSeconds.observe([tally.level, tally.schema, type], (now - startedMs) / 1000);
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
    const fair = "Fraction of its target that each priority level gets within its bounds.";
    this.#metrics.gauge(`${prefix}seat_fair_frac`, fair, () => control.fairFraction);
  }

  #read(name: string, help: string, family: ReadFamily): void {
    this.#metrics.read(prefix + name, help, family);
  }
}

const talliesOf = (levels: readonly Level[]): Tally[] => levels.flatMap(({ tallies }) => [...tallies.values()]);

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
