import { type Explanation } from "../explanation.ts";
import { type ObjectFacts } from "../facts.ts";
import { describeEvent } from "../pod/pod-parts.ts";

const maxEvents = 3;

/** Adds what others wrote about the object in events. For most operators that is how they report what went wrong. */
export function withEvents(
  explanation: Explanation,
  { resource, object, events = [], nowMs }: ObjectFacts,
): Explanation {
  const newest = events.at(-1);
  if (!newest) return explanation;
  const shown = events.slice(-maxEvents).map((event) => describeEvent(event, nowMs));
  const evidence = [...explanation.evidence, ...shown];
  // Conditions are about now, and an event is only about a moment.
  if (newest.type !== "Warning" || explanation.evidence.length > 0) return { ...explanation, evidence };
  return {
    hop: undefined,
    state: newest.reason,
    headline: `${resource.kind} ${object.metadata.name} has a warning as its newest event: ${newest.message}`,
    evidence,
    advice: ["Its controller wrote this event: correct what it names. See also the log of that controller."],
  };
}
