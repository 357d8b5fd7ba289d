import { hopNumber } from "#trace/hop.ts";
import { type Explanation } from "./explanation.ts";
import { type AdmissionHistory, type Refusal } from "./facts.ts";
import { ago } from "./times.ts";

/** Adds to an explanation what admission did to the object: what it changed, and a later change that was refused. */
export function withAdmission(explanation: Explanation, history: AdmissionHistory | undefined): Explanation {
  const { changes = [], refusal, nowMs = 0 } = history ?? {};
  if (changes.length === 0 && !refusal) return explanation;
  const refused = refusal
    ? [`the last change was refused: ${refusal.message}`, ...describeRefusal(refusal, nowMs)]
    : [];
  const changed = changes.flatMap(({ by, changes, expression }, index, all) => {
    const isSame = all[index - 1]?.by === by;
    const how = expression ? [`expression: ${expression.trim()}`] : [];
    return [...(isSame ? [] : [`${by} changed it on its way in:`]), ...[...changes, ...how].map(indented)];
  });
  return { ...explanation, evidence: [...explanation.evidence, ...refused, ...changed] };
}

/** When a request was refused, at which hop, by whom, and by which expression with which values. */
export function describeRefusal(refusal: Refusal, nowMs: number): string[] {
  const { verb, user, atMs, status, hop, message, cause, missing } = refusal;
  const who = cause && `${cause.by}${cause.of ? ` (${cause.of})` : ""}`;
  const unanswered = `${who} gave no answer that can be used, and its failurePolicy is Fail`;
  const by = who ? [hasFailed(message) ? unanswered : `refused by ${who}`] : [];
  const expression = cause?.expression ? [`expression: ${cause.expression.trim()}`] : [];
  return [
    `${verb} by ${user} ${ago(atMs, nowMs)} got ${status} at hop ${hopNumber(hop)} (${hop})`,
    ...(missing ? [missing] : []),
    ...by,
    ...expression,
    ...(cause?.values ?? []).map(indented),
  ];
}

/** A webhook did not refuse the request, but failed. */
export const hasFailed = (message: string): boolean =>
  /^Internal error occurred: failed calling webhook "/.test(message);

function failedAdvice(hop: Refusal["hop"], configuration: string): string {
  const kind = hop === "mutate" ? "mutatingwebhookconfiguration" : "validatingwebhookconfiguration";
  return `Start the webhook's server, or correct its clientConfig, caBundle or answer. If it is gone for good: \`kubectl delete ${kind} ${configuration}\`.`;
}

const indented = (line: string): string => `  ${line}`;

/** What to look at to allow what was refused. */
export function refusalAdvice({ cause, hop, message }: Refusal): string | undefined {
  const [kind = "", name = ""] = cause?.by.split(" ", 2) ?? [];
  switch (kind) {
    case "MutatingAdmissionPolicy":
      return `The policy cannot change the object. Correct its expression: \`kubectl get mutatingadmissionpolicy ${name} -o yaml\`.`;
    case "ValidatingAdmissionPolicy":
      // Its parameters or their kind are missing, so no expression was evaluated.
      if (!cause?.expression)
        return `Correct the policy, its binding or their parameters: \`kubectl get validatingadmissionpolicy ${name} -o yaml\`.`;
      return `Change the object so that the expression holds, or the policy: \`kubectl get validatingadmissionpolicy ${name} -o yaml\`.`;
    case "webhook":
      if (hasFailed(message)) return failedAdvice(hop, cause?.of ?? "");
      return `The webhook decides: ask who runs it. It is in the configuration ${cause?.of ?? ""}.`;
    case "rule": {
      const definition = cause?.by.split(" ").at(-1) ?? "";
      return `Change the object so that the expression holds, or the rule: \`kubectl get crd ${definition} -o yaml\`.`;
    }
    default:
      return undefined;
  }
}
