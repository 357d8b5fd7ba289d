import { type Difference } from "./compare.ts";
import { explanationOf } from "./explained.ts";
import { type Step } from "./step.ts";

/** One request whose answers differ. */
export interface Finding {
  readonly script: string;
  readonly step: Step;
  readonly difference: Difference;
}

export interface Tally {
  readonly requests: number;
  readonly findings: readonly Finding[];
}

/** The differences by their kind, the most frequent first, each with one request that shows it. */
export function renderTally({ requests, findings }: Tally, shown: number): string {
  const byReason = Map.groupBy(findings, ({ difference, step }) => explanationOf(difference, step) ?? "");
  const { "": open = [], ...explained } = Object.fromEntries(byReason);
  const groups = Map.groupBy(open, ({ difference }) => difference.kind);
  const sorted = [...groups].sort(([, a], [, b]) => b.length - a.length);
  return [
    `${requests} requests, ${requestsOf(findings)} with differences, ${requestsOf(open)} of them unexplained, in ${groups.size} groups`,
    ...Object.entries(explained).map(([reason, of]) => `  explained: ${of.length}x ${reason}`),
    ...rolled(sorted),
    "",
    ...sorted.slice(0, shown).map(renderGroup),
  ].join("\n");
}

const requestsOf = (findings: readonly Finding[]): number => new Set(findings.map(({ step }) => step)).size;

/** The first words of the kinds: how much is about codes, causes, objects. */
function rolled(groups: readonly (readonly [string, readonly Finding[]])[]): string[] {
  const byWord = Map.groupBy(groups, ([kind]) => kind.split(" ", kind.startsWith("object") ? 1 : 2).join(" "));
  return [...byWord].map(
    ([word, of]) => `  ${word}: ${of.reduce((sum, [, all]) => sum + all.length, 0)} in ${of.length} groups`,
  );
}

function renderGroup([kind, found]: readonly [string, readonly Finding[]]): string {
  const [{ script, step, difference }] = found as [Finding];
  const of = new Set(found.map((one) => one.script.split("/").at(-1)));
  return [
    `${found.length}x ${kind}`,
    `    ${script}: ${step.name} (${[...of].slice(0, 6).join(", ")})`,
    `    upstream: ${difference.upstream}`,
    `    ours:     ${difference.ours}`,
    "",
  ].join("\n");
}
