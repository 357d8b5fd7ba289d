import { type Taken } from "./cluster.ts";
import { type Result } from "./measure.ts";

/** What is demanded: ten times upstream's threshold, or nine tenths of the floor where that is less. */
const timesUpstream = 10;
const ofFloor = 0.9;

export const rateOf = ({ pods, seconds }: Taken): number => pods / seconds;
export const cpuOf = ({ pods, cpuMs }: Taken): number => cpuMs / pods;

const whole = (value: number): string => Math.round(value).toLocaleString("en");

export function renderResults(results: readonly Result[]): string {
  const head = [
    "workload",
    "nodes",
    "pods/s",
    "upstream",
    "times",
    "floor/s",
    "demanded",
    "of floor",
    "CPU/pod",
    "CPU/floor",
    "by CPU",
    "resident",
    "",
  ];
  return renderRows([head, ...results.map(rowOf)]);
}

function rowOf({ workload, nodes, taken, floor, residentMiB }: Result): string[] {
  const rate = rateOf(taken);
  const ten = workload.wanted ?? timesUpstream * workload.upstream;
  const demanded = Math.min(ten, ofFloor * rateOf(floor));
  return [
    workload.name,
    whole(nodes),
    whole(rate),
    whole(workload.upstream),
    `${(rate / workload.upstream).toFixed(1)}×`,
    whole(rateOf(floor)),
    `${whole(demanded)}${demanded < ten ? " (floor)" : ""}`,
    `${Math.round((100 * rate) / rateOf(floor))}%`,
    `${cpuOf(taken).toFixed(3)} ms`,
    `${cpuOf(floor).toFixed(3)} ms`,
    `${Math.round((100 * cpuOf(floor)) / cpuOf(taken))}%`,
    `${whole(residentMiB)} MiB`,
    rate >= demanded ? "ok" : "!",
  ];
}

/** Columns of equal width; the first to the left, the others to the right. */
export function renderRows(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0))) ?? [];
  const pad = (cell: string, at: number): string =>
    at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0);
  return `${rows.map((row) => row.map(pad).join("  ").trimEnd()).join("\n")}\n`;
}
