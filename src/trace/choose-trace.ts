import { type TraceSummary } from "./answers.ts";
import { type Hop } from "./hop.ts";

/** The traces that wrote an object, newest first. `hops` are those about the object, oldest first. */
export function summarizeTraces(hops: readonly Hop[]): TraceSummary[] {
  const summaries = new Map<string, TraceSummary>();
  for (const hop of hops) {
    if (hop.hop !== "client") continue;
    const summary = summaryOf(hop);
    const known = summaries.get(hop.traceId);
    // A trace is described by its first request that was not a status update.
    if (!known || (known.subresource === "status" && summary.subresource !== "status")) {
      summaries.set(hop.traceId, summary);
    }
  }
  return [...summaries.values()].sort((a, b) => b.startMs - a.startMs);
}

function summaryOf({ traceId, startMs, parentId, facts = {} }: Hop): TraceSummary {
  const text = (name: string): string => (typeof facts[name] === "string" ? facts[name] : "");
  return {
    traceId,
    startMs,
    verb: text("verb"),
    subresource: text("subresource"),
    user: text("user"),
    client: text("client"),
    status: typeof facts.status === "number" ? facts.status : 0,
    isRoot: parentId === "",
  };
}

/** The trace that people mean: the last request from outside, or else the one that created the object, or else any. */
export function chooseTrace(summaries: readonly TraceSummary[]): string {
  const worked = summaries.filter(({ status }) => status < 400);
  const chosen =
    worked.find(({ isRoot, subresource }) => isRoot && subresource !== "status") ??
    worked.find(({ verb, subresource }) => verb === "create" && subresource === "") ??
    worked.find(({ subresource }) => subresource !== "status") ??
    worked[0] ??
    summaries[0];
  return chosen?.traceId ?? "";
}
