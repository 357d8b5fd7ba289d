import { quotaAdvice } from "./allowances.ts";
import { type Explanation } from "./explanation.ts";
import { type SeenEvent } from "./facts.ts";
import { describeEvent } from "./pod/pod-parts.ts";

/** What refuses the pods that a controller wants to create, and what would help. */
export function explainRefusal(
  title: string,
  {
    message,
    evidence,
    what,
  }: { readonly message: string; readonly evidence: readonly string[]; readonly what: string },
): Explanation {
  return {
    hop: gateOf(message),
    state: "FailedCreate",
    headline: `${title} cannot make progress because the API server refuses its ${what}: ${message}`,
    evidence,
    advice: [gateAdvice(message), "The controller retries automatically, with growing pauses."],
  };
}

/** What controllers, and the recorder of events, put before the server's message. */
const prefixes = /^(\(combined from similar events\): )?(Error creating(?: job)?: |create .{1,600}? failed error: )?/;

/** The refusal that the events show, unless something was created after it. */
export function refusalInEvents(
  title: string,
  { events, nowMs }: { readonly events: readonly SeenEvent[]; readonly nowMs: number },
  what = "pods",
): Explanation | undefined {
  const last = events.findLast(({ reason }) => reason === "FailedCreate" || reason === "SuccessfulCreate");
  if (last?.reason !== "FailedCreate") return undefined;
  const message = last.message.replace(prefixes, "");
  return explainRefusal(title, { message, evidence: [describeEvent(last, nowMs)], what });
}

function gateOf(message: string): Explanation["hop"] {
  if (/is invalid/.test(message)) return "schema";
  if (/cannot (create|patch|update)/.test(message)) return "authorize";
  return "admit";
}

function gateAdvice(message: string): string {
  const account =
    /serviceaccount "([^"]+)" not found/i.exec(message)?.[1] ??
    /error looking up service account \S+\/(\S+):/.exec(message)?.[1];
  if (account) return `Create the service account ${account}, or remove spec.serviceAccountName from the template.`;
  if (/is invalid/.test(message)) return "Correct the pod template: the message names the field.";
  const quota = quotaAdvice(message);
  if (quota) return quota;
  if (/violates PodSecurity/.test(message))
    return "Bring the pod template in line with the namespace's Pod Security level, or lower that level.";
  if (/admission webhook "([^"]+)"/.test(message)) return "The webhook named in the message refused it: ask its owner.";
  return "The message says which rule refused it: change the template or the rule.";
}
