import { formatDuration } from "#schema/duration.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { type FlowControl } from "./flow-control.ts";
import { type Level } from "./level.ts";
import { type Queue, type Ticket } from "./queues/ticket.ts";

/** What priority and fairness holds now, as text: `/debug/api_priority_and_fairness/dump_…`. */
export const answerFlowDumps =
  (control: FlowControl) =>
  ({ info, query }: Context): Answer | undefined => {
    const [, , topic, name = "", ...rest] = info.path.split("/");
    const dump = dumps.get(name);
    if (topic !== "api_priority_and_fairness" || !dump || rest.length > 0) return undefined;
    const levels = [...control.levels.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    const body = Buffer.from(renderTable(dump(levels, Boolean(query.get("includeRequestDetails")))));
    return { type: "bytes", status: 200, contentType: "text/plain; charset=utf-8", body };
  };

type Rows = readonly (readonly string[])[];
const dumps = new Map<string, (levels: readonly Level[], details: boolean) => Rows>([
  ["dump_priority_levels", (levels) => [levelHeads, ...levels.map(levelRow)]],
  ["dump_queues", (levels) => [queueHeads, ...levels.flatMap(queueRows)]],
  [
    "dump_requests",
    (levels, details) => [
      details ? [...requestHeads, ...detailHeads] : requestHeads,
      ...levels.flatMap((level) => requestRows(level, details)),
    ],
  ],
]);

const levelHeads = [
  "PriorityLevelName",
  "ActiveQueues",
  "IsIdle",
  "IsQuiescing",
  "WaitingRequests",
  "ExecutingRequests",
  "DispatchedRequests",
  "RejectedRequests",
  "TimedoutRequests",
  "CancelledRequests",
];
function levelRow({ name, set, isQuiescing }: Level): string[] {
  const active = [...set.queues.values()].filter(({ waiting }) => waiting.size > 0).length;
  const counts = [set.waiting, set.executing, set.dispatched, set.rejected, 0, set.cancelled];
  return [name, active, set.isIdle, isQuiescing, ...counts].map(String);
}

const queueHeads = [
  "PriorityLevelName",
  "Index",
  "PendingRequests",
  "ExecutingRequests",
  "SeatsInUse",
  "NextDispatchR",
  "InitialSeatsSum",
  "MaxSeatsSum",
  "TotalWorkSum",
];
/** Only those in use: the others hold nothing. */
const queueRows = ({ name, set }: Level): string[][] =>
  [...set.queues.values()]
    .sort((a, b) => a.index - b.index)
    .map((queue) => {
      const initial = [...queue.waiting].reduce((sum, { asking }) => sum + asking.work.seats, 0);
      const counts = [queue.index, queue.waiting.size, queue.executing.size, queue.seatsInUse].map(String);
      return [
        name,
        ...counts,
        seatSeconds(queue.nextStart),
        String(initial),
        String(queue.seatsWaiting),
        seatSeconds(queue.workWaiting),
      ];
    });
const seatSeconds = (seatMs: number): string => `${(seatMs / 1000).toFixed(8)}ss`;

const requestHeads = [
  "PriorityLevelName",
  "FlowSchemaName",
  "QueueIndex",
  "RequestIndexInQueue",
  "FlowDistingsher",
  "ArriveTime",
  "InitialSeats",
  "FinalSeats",
  "AdditionalLatency",
  "StartTime",
];
const detailHeads = ["UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"];

function requestRows(level: Level, details: boolean): string[][] {
  const rows: string[][] = [];
  const add = (ticket: Ticket, queue: Queue | undefined, index: number): void => {
    rows.push([...requestRow(level, ticket, queue, index), ...(details ? detailsOf(ticket) : [])]);
  };
  for (const queue of level.set.queues.values()) {
    for (const [index, ticket] of [...queue.waiting].entries()) add(ticket, queue, index);
    for (const ticket of queue.executing) add(ticket, queue, -1);
  }
  for (const ticket of level.set.unqueued) add(ticket, undefined, -1);
  return rows;
}

function requestRow({ name }: Level, ticket: Ticket, queue: Queue | undefined, index: number): string[] {
  const { tally, distinguisher, work } = ticket.asking;
  return [
    name,
    tally.schema,
    String(queue?.index ?? -1),
    String(index),
    distinguisher,
    timeOf(ticket.arrivedMs),
    String(work.seats),
    String(ticket.finalSeats),
    formatDuration(BigInt(Math.round(ticket.finalMs * 1e6))),
    ticket.hasStarted ? timeOf(ticket.startedMs) : "0001-01-01T00:00:00Z",
  ];
}
const timeOf = (ms: number): string => new Date(ms).toISOString();

function detailsOf({ asking: { user, info } }: Ticket): string[] {
  const { verb, path, namespace, name, group, version, resource, subresource } = info;
  return [user.name, verb, path, namespace, name, group ? `${group}/${version}` : version, resource, subresource];
}

/** Names of users may contain anything: a line break would start a row of its own. */
const cell = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]/gu, "\ufffd");

/** Cells end with a comma, and columns are aligned with spaces. */
function renderTable(rows: Rows): string {
  const cells = rows.map((row) => row.map((text, at) => (at < row.length - 1 ? `${cell(text)},` : cell(text))));
  const widths: number[] = [];
  for (const row of cells) {
    for (const [at, { length }] of row.entries()) widths[at] = Math.max(widths[at] ?? 7, Math.min(length, maxWidth));
  }
  const lines = cells.map((row) =>
    row.map((text, at) => (at < row.length - 1 ? text.padEnd((widths[at] ?? 0) + 1) : text)).join(""),
  );
  return `${lines.join("\n")}\n`;
}
/** One long name does not widen all rows. */
const maxWidth = 64;
