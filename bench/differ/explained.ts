import { type Difference } from "./compare.ts";
import { type Step } from "./step.ts";

interface Explanation {
  /** As docs/server.md says it. */
  readonly reason: string;
  explains(difference: Difference, step: Step): boolean;
}

/** Differences that are meant to be. Each has a line under "Where does it differ from upstream?" in docs/server.md. */
const explanations: readonly Explanation[] = [
  {
    reason: "descriptions are in our own words",
    explains: ({ kind }) => /^object .*\.description string\/string$/.test(kind),
  },
  {
    reason: "what was never set is absent, where upstream writes null",
    explains: ({ kind }) => /^object .* null\/absent$/.test(kind),
  },
  {
    reason: "causes are not repeated and may have another order",
    explains: ({ kind }) => kind === "repeated causes" || kind === "order of causes",
  },
  {
    reason: "a malformed patch is a bad request, where upstream answers 500",
    explains: ({ kind, upstream, ours }, { method }) =>
      method === "PATCH" &&
      (kind === "code 500, ours 400" ||
        (kind.startsWith("object status.code") && upstream === "500" && ours === "400") ||
        (kind.startsWith("object status.reason absent") && ours === '"BadRequest"')),
  },
  {
    reason: "a patch that does not apply says why",
    explains: ({ upstream, ours }) =>
      upstream === "the server rejected our request due to an error in our request" && ours.startsWith(upstream),
  },
];

/** Why two answers differ on purpose, or undefined. */
export const explanationOf = (difference: Difference, step: Step): string | undefined =>
  explanations.find(({ explains }) => explains(difference, step))?.reason;
