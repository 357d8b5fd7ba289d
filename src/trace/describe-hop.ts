import { type Hop, type HopObject } from "./hop.ts";

/** Who did what, in a few words. */
export interface Description {
  readonly who: string;
  readonly what: string;
}

export function describeHop(hop: Hop): Description {
  switch (hop.hop) {
    case "client":
      return { who: "apiserver", what: describeRequest(hop) };
    case "control":
      return { who: hop.component, what: `reconcile ${nameOf(hop.object)}` };
    case "schedule":
      return { who: hop.component, what: describePlacing(hop) };
    case "run":
      return { who: hop.component, what: describeRunning(hop) };
    case "serve":
      return { who: hop.component, what: `program the rules of service ${hop.object?.name ?? ""}` };
    default:
      return { who: hop.component, what: describeAdmission(hop) ?? steps[hop.hop] };
  }
}

/** What a webhook or a policy did: `change spec.replicas: 2 → 3, and 1 more`. */
function describeAdmission({ facts = {} }: Hop): string | undefined {
  const changes = Array.isArray(facts.changes) ? facts.changes : [];
  const more = changes.length > 1 ? `, and ${changes.length - 1} more` : "";
  return changes.length > 0 ? `change ${String(changes[0])}${more}` : undefined;
}

/** The schema step occurs twice: when the object is read, and when it is complete. */
export const describeStep = (step: Hop, { isFirst }: { isFirst: boolean }): Description =>
  step.hop === "schema" && isFirst
    ? { who: step.component, what: "decode the object and set defaults" }
    : describeHop(step);

const steps = {
  authenticate: "authenticate the user",
  authorize: "authorise the request",
  mutate: "run mutating admission",
  schema: "validate the object",
  admit: "run validating admission",
  persist: "commit to the store",
  broadcast: "send the event to watchers",
} as const;

/** `create pods web-7d-x`, `bind pod …`, with the code if it was refused. */
function describeRequest({ object, facts = {} }: Hop): string {
  const { verb = "write", subresource, status, message, refusedAt } = facts;
  const target = `${object?.resource ?? ""}${subresource ? `/${subresource}` : ""} ${object?.name ?? ""}`;
  const what = `${verb} ${target}`.trimEnd();
  if (typeof status !== "number" || status < 400) return what;
  return `${what}: refused with ${status} at ${refusedAt ?? "a gate"}: ${message ?? ""}`;
}

function describePlacing({ object, facts = {} }: Hop): string {
  const { node, feasible, evaluated, message } = facts;
  if (!node) return `no node for ${object?.name ?? ""}: ${message ?? ""}`;
  const choice = typeof evaluated === "number" && evaluated > 1 ? ` (${feasible} of ${evaluated} nodes fit)` : "";
  return `place ${object?.name ?? ""} on ${node}${choice}`;
}

function describeRunning({ facts = {} }: Hop): string {
  const { step, container, error } = facts;
  const what = `${runSteps[String(step)] ?? String(step)}${container ? ` ${container}` : ""}`;
  return error ? `${what}: ${error}` : what;
}

const runSteps: Readonly<Record<string, string>> = {
  image: "image for",
  pull: "pull image for",
  volumes: "mount volumes",
  sandbox: "sandbox and network",
  create: "create container",
  start: "start container",
  ready: "pod is ready",
  probes: "wait for probes, pod is ready",
  readiness: "pod is ready",
};

const nameOf = (object: HopObject | undefined): string => object?.name ?? "";

/** `kubectl` of `kubectl/v1.36.4 (linux/amd64) kubernetes/0123456`. */
export const clientName = (userAgent: string): string => userAgent.split(/[/ ]/)[0] || "a client";

/** The pod has reported that it is ready. */
export const isReadyHop = ({ hop, facts }: Hop): boolean =>
  hop === "run" && (facts?.step === "ready" || facts?.step === "readiness" || facts?.step === "probes");
