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
    reason: "values in messages are shown as JSON of the API, not of Go's types",
    explains: ({ kind, upstream, ours }) =>
      kind.startsWith("cause other") && withoutValue(upstream) === withoutValue(ours),
  },
  {
    reason: "the status that a controller in the server writes comes at another moment",
    explains: ({ kind }) =>
      /^object (rows\[\]\.object\.|items\[\]\.)?(status\.(conditions|observedGeneration|typeChecking)|metadata\.managedFields) (list|absent)\/(list|absent|number|object)$/.test(
        kind,
      ),
  },
  {
    reason: "an access review says which rule is missing",
    explains: ({ kind, ours }) => kind === "object status.reason absent/string" && ours.includes("no rule allows it"),
  },
  {
    reason: "rules of a SelfSubjectRulesReview have another order",
    explains: ({ kind }, { path }) => kind.startsWith("object status.") && path.includes("selfsubjectrulesreviews"),
  },
  {
    reason: "a resourceVersion that is no number is a conflict, where upstream answers 500",
    explains: (_, { name }) => name === "update bad version",
  },
  {
    reason: "a dry run refuses what the real request refuses",
    explains: ({ kind }, { name, path }) =>
      path.includes("dryRun=All") &&
      (name === "create with a resource version" || (kind === "code 201, ours 422" && name.includes("nodePort"))),
  },
  {
    reason: "a bad continue token is not parsed in Go's words",
    explains: (_, { name }) => name === "list bad continue",
  },
  {
    reason: "upstream's server panics",
    explains: ({ kind }, { forMs }) => kind.startsWith("code 0,") && forMs === undefined,
  },
  {
    reason: "micro times may have fewer than six digits",
    explains: ({ kind, upstream }) => /^code 400/.test(kind) && upstream.includes("2006-01-02T15:04:05.000000Z07:00"),
  },
  {
    reason: "a malformed patch is a bad request, where upstream answers 500",
    explains: ({ kind, upstream, ours }, { method }) =>
      method === "PATCH" &&
      (kind === "code 500, ours 400" ||
        (kind.startsWith("object status.code") && upstream === "500" && ours === "400") ||
        (kind.startsWith("object status.reason absent") && ours === '"BadRequest"') ||
        upstream.startsWith("failed to create typed patch object")),
  },
  {
    reason: "a patch that does not apply says why",
    explains: ({ upstream, ours }) =>
      upstream === "the server rejected our request due to an error in our request" && ours.startsWith(upstream),
  },
];

const withoutValue = (text: string): string =>
  text.replace(/\n@@.*/s, "").replace(/((?:Invalid|Unsupported|Duplicate) value: ).*[\]}"]: (?=[^"{}[\]]*$)/s, "$1…: ");

/** Why two answers differ on purpose, or undefined. */
export const explanationOf = (difference: Difference, step: Step): string | undefined =>
  explanations.find(({ explains }) => explains(difference, step))?.reason;
