import { isObject } from "#lib/data/json-object.ts";
import { counted, type Explanation } from "../explanation.ts";
import { type ObjectFacts } from "../facts.ts";

/** One condition of an object's status, and the part of the object that it is about. Custom kinds say what they like. */
interface Said {
  readonly part: string;
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** Types that are usually true when all is well. Of others, such as Conflicted, nobody can tell which way is good. */
const goodTypes: ReadonlySet<string> = new Set([
  ...["Accepted", "Available", "Established", "Healthy", "Initialized", "NamesAccepted", "Programmed"],
  ...["Ready", "Reconciled", "ResolvedRefs", "Succeeded", "Synced", "Valid"],
]);

const maxShown = 20;
const maxText = 1000;

/** What the controller of the object reports by conditions; undefined if it reports none. */
export function explainConditions({ resource, object }: ObjectFacts): Explanation | undefined {
  const said = conditionsOf(object);
  const title = `${resource.kind} ${object.metadata.name}`;
  const mistyped = typeWarningsOf(object);
  if (mistyped.length > 0) return explainTypes(title, mistyped);
  if (said.length === 0) return undefined;
  const evidence = said.slice(0, maxShown).map(describe);
  const bad = said.find(({ type, status }) => goodTypes.has(type) && status !== "True");
  if (!bad) {
    const headline = `${title} exists, and its conditions report no problem.`;
    return { hop: undefined, state: "Exists", headline, evidence, advice: [] };
  }
  return {
    hop: undefined,
    state: bad.reason || `Not${bad.type}`,
    headline: `${title} reports a problem: ${describe(bad)}.`,
    evidence,
    advice: ["Its controller sets these conditions: correct what the message names, and it looks again."],
  };
}

/** Those of the parts come first: they say more than the summary of the whole. */
function conditionsOf(object: object): Said[] {
  const status = "status" in object && isObject(object.status) ? object.status : {};
  const listeners = objectsIn(status.listeners).flatMap((each) =>
    readConditions(`listener ${textOf(each.name)}: `, each),
  );
  const parents = objectsIn(status.parents).flatMap((each) => readConditions(parentOf(each), each));
  return [...listeners, ...parents, ...readConditions("", status)];
}

const parentOf = ({ parentRef }: Record<string, unknown>): string =>
  `parent ${isObject(parentRef) ? textOf(parentRef.name) : ""}: `;

const readConditions = (part: string, { conditions }: Record<string, unknown>): Said[] =>
  objectsIn(conditions).map(({ type, status, reason, message }) => ({
    ...{ part, type: textOf(type), status: textOf(status) },
    ...{ reason: textOf(reason), message: textOf(message) },
  }));

function describe({ part, type, status, reason, message }: Said): string {
  const why = reason ? ` (${reason})` : "";
  return `${part}${type} is ${status}${why}${message ? `: ${message}` : ""}`;
}

/** What type checking found in the expressions of a ValidatingAdmissionPolicy. */
function typeWarningsOf(object: object): string[] {
  const status = "status" in object && isObject(object.status) ? object.status : {};
  const { expressionWarnings } = isObject(status.typeChecking) ? status.typeChecking : {};
  return objectsIn(expressionWarnings).map(({ fieldRef, warning }) => `${textOf(fieldRef)}: ${textOf(warning)}`);
}

const explainTypes = (title: string, warnings: readonly string[]): Explanation => ({
  hop: undefined,
  state: "TypeWarning",
  headline: `${title} has ${counted(warnings.length, "expression")} that cannot work for some of the kinds that it is about: ${warnings[0]}`,
  evidence: warnings.slice(0, maxShown).map((warning) => `status.typeChecking: ${warning}`),
  advice: [
    "Correct the expression, or match only the kinds that have its fields: spec.matchConstraints.resourceRules.",
  ],
});

const objectsIn = (list: unknown): Record<string, unknown>[] => (Array.isArray(list) ? list.filter(isObject) : []);
/** One line of bounded length. */
const textOf = (value: unknown): string =>
  typeof value === "string"
    ? value
        .slice(0, maxText)
        .replaceAll(/\p{Cc}+/gu, " ")
        .trim()
    : "";
