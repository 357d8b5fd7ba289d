import { describeRefusal, refusalAdvice } from "../admission.ts";
import { quotaAdvice } from "../allowances.ts";
import { type Explanation } from "../explanation.ts";
import { type AbsentFacts, type Refusal } from "../facts.ts";
import { ago } from "../times.ts";

/** The object does not exist; perhaps it was refused. */
export function explainAbsent({ resource, namespace, name, refusal, removal, nowMs }: AbsentFacts): Explanation {
  const title = `${resource.kind} ${name}`;
  const place = resource.scope === "Namespaced" ? ` in namespace ${namespace}` : "";
  if (removal && removal.atMs > (refusal?.atMs ?? 0)) {
    return {
      hop: undefined,
      state: "NotFound",
      headline: `There is no ${title}${place} any more: ${removal.user} deleted it ${ago(removal.atMs, nowMs)}.`,
      evidence: [],
      advice: [],
    };
  }
  if (!refusal) {
    return {
      hop: undefined,
      state: "NotFound",
      headline: `There is no ${title}${place}, and no recent request tried to create it.`,
      evidence: [],
      advice: [place ? "Check the name and the namespace: `-n NAMESPACE`." : "Check the name."],
    };
  }
  return {
    hop: refusal.hop,
    state: "Refused",
    headline: `There is no ${title}${place} because the API server refused it: ${refusal.message}`,
    evidence: describeRefusal(refusal, nowMs),
    advice: [
      quotaAdvice(refusal.message) ??
        refusalAdvice(refusal) ??
        adviceAt(refusal) ??
        "Correct what the message names, and apply it again.",
    ],
  };
}

/** Only a conflict can be met by trying again: at the same hop, addresses and ports are given out, and may be refused. */
const adviceAt = ({ hop, status }: Refusal): string | undefined => (status === 409 ? conflict : advice[hop]);
const conflict = "Somebody else changed it at the same time, or it already exists: read it again and retry.";
const advice: Readonly<Partial<Record<string, string>>> = {
  authenticate: "Check the credentials in the kubeconfig.",
  authorize: "Give the user a Role that allows it, or use another user.",
  admit: "An admission rule refused it: change the object or the rule.",
};
