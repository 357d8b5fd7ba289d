import { SubjectAccessReview } from "#api/authorization/subject-access-review.ts";
import { groupResource, type Resource } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { type TraceAnswer } from "#trace/answers.ts";
import { type Hop, type HopName, hopNames } from "#trace/hop.ts";
import { type AbsentFacts, type AdmissionChange, type Refusal } from "./facts.ts";

export interface Subject {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

export interface History extends Pick<AbsentFacts, "refusal" | "removal"> {
  /** What webhooks and policies changed in the last write that worked. */
  readonly changes: readonly AdmissionChange[];
}

/** What the traces know about an object, whether it exists or not. */
export async function historyOf(client: Client, subject: Subject): Promise<History> {
  const { resource, namespace, name } = subject;
  const place = resource.scope === "Namespaced" ? namespace : "-";
  const path = [groupResource(resource, resource.plural), place, name].map(encodeURIComponent).join("/");
  const answer = await readOwn<TraceAnswer>(client, `/orlop/trace/${path}`);
  const deleted = answer?.traces.find(({ status, verb }) => status < 400 && verb === "delete");
  const removal = deleted && { atMs: deleted.startMs, user: deleted.user };
  const refusal = answer && (await refusalIn(client, path, answer));
  const missing = refusal?.hop === "authorize" ? await missingRule(client, refusal, subject) : "";
  return {
    refusal: refusal && missing ? { ...refusal, missing } : refusal,
    removal,
    changes: answer ? changesIn(answer) : [],
  };
}

/** The last refused attempt to write the object, unless a later one worked. */
async function refusalIn(client: Client, path: string, answer: TraceAnswer): Promise<Refusal | undefined> {
  const attempts = answer.traces.filter(({ verb, subresource }) => verb !== "delete" && subresource !== "status");
  const [last] = attempts;
  if (!last || last.status < 400) return undefined;
  const detail =
    last.traceId === answer.traceId
      ? answer
      : await readOwn<TraceAnswer>(client, `/orlop/trace/${path}?trace=${last.traceId}`);
  const hop = detail?.hops.findLast(
    ({ hop, facts }) => hop === "client" && typeof facts?.status === "number" && facts.status >= 400,
  );
  return {
    atMs: last.startMs,
    verb: last.verb,
    user: last.user,
    status: last.status,
    hop: hopNames.find((each): each is HopName => each === hop?.facts?.refusedAt) ?? "admit",
    message: textIn(hop, "message"),
    cause: causeIn(hop),
  };
}

/** The server records who refused a request, and the expression that did not hold. */
function causeIn(hop: Hop | undefined): Refusal["cause"] {
  const by = textIn(hop, "by");
  if (!by) return undefined;
  const [binding, configuration] = [textIn(hop, "binding"), textIn(hop, "configuration")];
  return { by, of: binding || configuration, expression: textIn(hop, "expression"), values: textsIn(hop, "values") };
}

function changesIn({ object, hops }: TraceAnswer): AdmissionChange[] {
  const isOwn = (hop: Hop) =>
    hop.hop === "mutate" &&
    hop.object?.resource === object.resource &&
    hop.object.namespace === object.namespace &&
    (hop.object.name === object.name || hop.object.name === "");
  return hops.filter(isOwn).flatMap((hop) => {
    const changes = textsIn(hop, "changes");
    return changes.length > 0 ? [{ by: hop.component, changes, expression: textIn(hop, "expression") }] : [];
  });
}

const textIn = (hop: Hop | undefined, name: string): string => {
  const value = hop?.facts?.[name];
  return typeof value === "string" ? value : "";
};
const textsIn = (hop: Hop | undefined, name: string): string[] => {
  const value = hop?.facts?.[name];
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
};

/** The server explains a refusal to those who may read the roles. "" if it does not, or would allow it now. */
async function missingRule(client: Client, { user, verb }: Refusal, subject: Subject): Promise<string> {
  const { resource, namespace, name } = subject;
  const { group, version, plural } = resource;
  const place = resource.scope === "Namespaced" ? { namespace } : {};
  const object = verb === "create" ? {} : { name };
  const resourceAttributes = { verb, group, version, resource: plural, ...place, ...object };
  const review = client.create(SubjectAccessReview, { metadata: {}, spec: { user, resourceAttributes } });
  const answer = await review.catch(() => undefined);
  return answer && !answer.status.allowed ? (answer.status.reason ?? "") : "";
}

/** An endpoint that only Orlop's server has; undefined where it is missing or the user may not read it. */
export async function readOwn<T>(client: Client, path: string): Promise<T | undefined> {
  const answer = await client.raw("GET", path).catch(() => undefined);
  return answer?.status === 200 ? (JSON.parse(Buffer.from(answer.body).toString()) as T) : undefined;
}
