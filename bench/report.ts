import { type Boot } from "./boot.ts";
import { type CreateSplit } from "./split-create.ts";
import { limits, sizes, upstream } from "./upstream.ts";

export interface Line {
  readonly name: string;
  readonly unit: string;
  readonly count: number;
  readonly perSecond: number;
  readonly cpuMs: number;
  readonly residentMiB: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}

export interface Report {
  readonly lines: readonly Line[];
  /** After create, get, list, churn and watch. */
  readonly residentWithPodsMiB?: number;
  readonly boot?: Boot;
  readonly split?: CreateSplit;
}

/** The report as text; `!` marks what exceeds its limit. */
export function renderReport(report: Report): string {
  const parts = [renderTable(loadRows(report.lines))];
  const rows = sizeRows(report);
  if (rows.length > 0) parts.push(renderTable([["size", "", "limit", "upstream"], ...rows]));
  if (report.split) parts.push(renderSplit(report.split));
  return `${parts.join("\n\n")}\n`;
}

function loadRows(lines: readonly Line[]): string[][] {
  const head = ["load", "a second", "limit", "upstream", "CPU each", "limit", "upstream", "p50 / p99", "resident"];
  return [head, ...lines.map(loadRow)];
}

function loadRow({ name, unit, perSecond, cpuMs, residentMiB, p50Ms, p99Ms }: Line): string[] {
  const theirs = upstream[name];
  const limit = limits[name];
  return [
    name,
    `${short(perSecond)} ${unit}${limit && perSecond < limit.perSecond ? " !" : ""}`,
    short(limit?.perSecond),
    short(theirs?.perSecond),
    `${short(cpuMs)} ms${limit && cpuMs > limit.cpuMs ? " !" : ""}`,
    limit ? `${limit.cpuMs} ms` : "",
    theirs ? `${theirs.cpuMs} ms` : "",
    p50Ms === undefined ? "" : `${short(p50Ms)} / ${short(p99Ms)} ms`,
    `${short(residentMiB)} MiB`,
  ];
}

type Size = { readonly upstream: number | undefined; readonly limit: number };

function sizeRows({ boot, residentWithPodsMiB }: Report): string[][] {
  const rows: string[][] = [];
  const add = (name: string, value: number | undefined, { size, unit }: { size: Size; unit: string }): void => {
    if (value === undefined) return;
    const mark = value > size.limit ? " !" : "";
    const theirs = size.upstream === undefined ? "" : `${size.upstream} ${unit}`;
    rows.push([name, `${short(value)} ${unit}${mark}`, `${size.limit} ${unit}`, theirs]);
  };
  add("boot from an empty directory", boot?.emptyMs, { size: sizes.emptyMs, unit: "ms" });
  add(`boot with ${boot?.objects} objects`, boot?.filledMs, { size: sizes.filledMs, unit: "ms" });
  add("resident after boot", boot?.residentMiB, { size: sizes.residentAfterBootMiB, unit: "MiB" });
  add("resident with all pods", residentWithPodsMiB, { size: sizes.residentWithPodsMiB, unit: "MiB" });
  add("idle", boot?.idlePercent, { size: sizes.idlePercent, unit: "% of a core" });
  return rows;
}

function renderSplit(split: CreateSplit): string {
  const total = Object.values(split).reduce((sum: number, value: number) => sum + value, 0);
  const rows = Object.entries(split).map(([name, us]) => [name, `${short(us)} us`, `${short((us / total) * 100)} %`]);
  return renderTable([["one create", "CPU", ""], ...rows, ["total", `${short(total)} us`, ""]]);
}

/** Columns of the necessary width; the first is text, the others are numbers. */
function renderTable(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const cell = (text: string, column: number): string =>
    column === 0 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0);
  return rows.map((row) => row.map(cell).join("  ").trimEnd()).join("\n");
}

/** Three digits, because a measurement has no more precision. */
function short(value: number | undefined): string {
  if (value === undefined) return "";
  if (value >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}
