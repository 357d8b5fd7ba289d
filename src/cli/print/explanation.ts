import { hopNumber } from "#trace/hop.ts";
import { type Explanation } from "#why/explanation.ts";
import { printable } from "./printable.ts";

/** The answer comes first, then the state, the evidence and the advice. */
export function renderExplanation({ headline, hop, state, evidence, advice }: Explanation): string {
  const place = hop ? `${state}, at hop ${hopNumber(hop)} of 12 (${hop})` : state;
  const lines = [
    headline,
    "",
    `  where     ${place}`,
    ...section("evidence", evidence),
    ...section("advice", advice),
    "",
  ];
  return printable(lines.join("\n"));
}

const column = 12;

function section(title: string, lines: readonly string[]): string[] {
  const texts = lines.flatMap((line) => line.split("\n"));
  return texts.map((line, at) => `  ${(at === 0 ? title : "").padEnd(column - 2)}${line}`);
}
