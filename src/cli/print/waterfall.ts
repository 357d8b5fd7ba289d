import { type TraceAnswer } from "#trace/answers.ts";
import { clientName } from "#trace/describe-hop.ts";
import { type Hop } from "#trace/hop.ts";
import { type Milestones, milestonesOf } from "#trace/milestones.ts";
import { planRows, type Row } from "#trace/plan-rows.ts";
import { buildTree, focusOn, type HopNode } from "#trace/tree.ts";
import { printable } from "./printable.ts";

export interface WaterfallOptions {
  /** In characters. */
  readonly width: number;
  readonly all: boolean;
}

/** Renders a trace as one line per hop: start, duration, a bar to scale, who did it, and what. */
export function renderWaterfall(answer: TraceAnswer, options: WaterfallOptions): string {
  const roots = shownRoots(answer);
  const rows = planRows(roots, options);
  const milestones = milestonesOf(hopsOf(roots));
  const lines = [
    headline(answer, milestones),
    origin(answer, roots),
    ...onlyReports(answer),
    "",
    ...renderRows(rows, milestones.startMs, options.width),
    "",
    ...footer(answer, options),
  ];
  return printable(lines.join("\n"));
}

/** The whole trace if it began with the object, else only the hops that led to the object and from it. */
function shownRoots({ hops, object, traces, traceId }: TraceAnswer): HopNode[] {
  const roots = buildTree(hops);
  const isOwn = traces.some((trace) => trace.traceId === traceId && trace.isRoot);
  return isOwn ? roots : focusOn(roots, object);
}

const hopsOf = (nodes: readonly HopNode[]): Hop[] => nodes.flatMap(({ hop, children }) => [hop, ...hopsOf(children)]);

function headline({ object }: TraceAnswer, milestones: Milestones): string {
  const { pods, ready, unrecorded, placed, allReadyMs, servedMs, lastMs } = milestones;
  const name = `${object.resource}/${object.name}${object.namespace ? ` in ${object.namespace}` : ""}`;
  const count = pods.length === 1 ? "its pod is" : `all ${pods.length} pods are`;
  if (allReadyMs !== undefined) {
    const served =
      servedMs === undefined ? "" : `, traffic reaches ${pods.length === 1 ? "it" : "them"} after ${ms(servedMs)}`;
    return `${name}: ${count} ready after ${ms(allReadyMs)}${served}`;
  }
  if (pods.length === 0) return `${name}: last activity after ${ms(lastMs)}`;
  const known = `${ready} of ${pods.length} pods ready, ${placed} placed`;
  const unknown = unrecorded > 0 ? `, ${unrecorded} on joined nodes, whose hops are not recorded` : "";
  return `${name}: ${known}${unknown}, last activity after ${ms(lastMs)}`;
}

const ms = (value: number): string => `${value.toFixed(1)} ms`;

/** The request that began the trace. */
function origin({ traceId, hops }: TraceAnswer, [root]: readonly HopNode[]): string {
  const { facts = {}, object, startMs = 0 } = root?.hop ?? {};
  const what = facts.verb ? `${facts.verb} ${object?.resource}/${object?.name} by ${facts.user} ` : "";
  const tool = facts.client ? `with ${clientName(String(facts.client))} ` : "";
  return `${what}${tool}at ${when(startMs)}, ${hops.length} hops, trace ${traceId}`;
}

/** After a restart, the request that created the object is forgotten. */
const onlyReports = ({ traces }: TraceAnswer): string[] =>
  traces.length > 0 && traces.every(({ subresource }) => subresource === "status")
    ? [
        "The requests that changed it are no longer kept: the server keeps only the newest hops, in memory. This is the last update of its status.",
      ]
    : [];

const when = (atMs: number): string => new Date(atMs).toISOString().replace("T", " ").replace("Z", " UTC");

const numberWidth = 9;
const gap = 2;

function renderRows(rows: readonly Row[], startMs: number, width: number): string[] {
  const totalMs = Math.max(1e-3, ...rows.map((row) => row.startMs + row.durationMs - startMs));
  const whoWidth = Math.max(0, ...rows.map(({ who }) => who.length)) + gap;
  const barWidth = Math.max(10, Math.min(40, Math.floor((width - 3 - 2 * numberWidth - whoWidth) / 4)));
  const head = `hop${"start".padStart(numberWidth)}${"took".padStart(numberWidth)}  ${"".padEnd(barWidth)}  ${"who".padEnd(whoWidth)}what`;
  const lines = rows.map((row) => {
    const from = row.startMs - startMs;
    const bar = renderBar({ from, to: from + row.durationMs, totalMs, width: barWidth });
    const numbers = `${from.toFixed(1).padStart(numberWidth)}${row.durationMs.toFixed(1).padStart(numberWidth)}`;
    const hop = String(row.number ?? "").padStart(3);
    return cut(`${hop}${numbers}  ${bar}  ${row.who.padEnd(whoWidth)}${"  ".repeat(row.depth)}${row.what}`, width);
  });
  return [head, ...lines];
}

/** Filled cells where the hop ran; a thin mark where it was too short for a cell. */
export function renderBar(span: { from: number; to: number; totalMs: number; width: number }): string {
  const { from, to, totalMs, width } = span;
  const first = Math.min(width - 1, Math.max(0, Math.floor((from / totalMs) * width)));
  const cells = Math.round(((to - from) / totalMs) * width);
  const bar = cells < 1 ? "▏" : "█".repeat(Math.min(cells, width - first));
  return "·".repeat(first) + bar + "·".repeat(Math.max(0, width - first - bar.length));
}

const cut = (text: string, width: number): string =>
  text.length <= width ? text.trimEnd() : `${text.slice(0, Math.max(1, width - 1))}…`;

function footer({ traces, traceId }: TraceAnswer, { all }: WaterfallOptions): string[] {
  const lines: string[] = [];
  if (!all) lines.push("hidden: status updates, and the steps of nested requests (--all shows everything)");
  const older = traces.filter((trace) => trace.traceId !== traceId && trace.isRoot && trace.subresource !== "status");
  for (const { traceId: id, verb, subresource, user, startMs } of older.slice(0, 3)) {
    const what = subresource ? `${verb} ${subresource}` : verb;
    lines.push(`other trace: ${what} by ${user} at ${when(startMs)} (--trace ${id})`);
  }
  return lines;
}
