import { type UserInfo } from "#api/exchange.ts";
import { microTimestamp } from "#lib/async/clock.ts";
import type { AuditStage, Level } from "./policy.ts";

/** What happened to one request, at one stage. */
export interface EventFacts {
  readonly level: Level;
  readonly auditID: string;
  readonly stage: AuditStage;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: UserInfo;
  readonly impersonatedUser: UserInfo | undefined;
  readonly sourceIPs: readonly string[];
  readonly userAgent: string;
  readonly objectRef: ObjectRef | undefined;
  readonly responseStatus: ResponseStatus | undefined;
  /** Bodies as JSON texts. */
  readonly requestObject: string | undefined;
  readonly responseObject: string | undefined;
  readonly receivedMs: number;
  readonly stageMs: number;
  readonly annotations: ReadonlyMap<string, string>;
}

export interface ObjectRef {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resourceVersion: string;
  readonly subresource: string;
}

export interface ResponseStatus {
  readonly status?: string | undefined;
  readonly message?: string | undefined;
  readonly reason?: string | undefined;
  readonly details?: object | undefined;
  readonly code: number;
}

/** An event, ready to be written. */
export interface AuditEvent {
  readonly stage: AuditStage;
  /** The JSON after its kind and version: `"level":"Metadata",…}`. */
  readonly rest: string;
  /** The one line of the old format, without an end of line. */
  legacy(): string;
  /** The same event, which says that its bodies were left out. */
  withoutBodies(): AuditEvent;
}

/** A body of more than this is always left out. */
const maxObjectChars = 8 << 20;
const truncated = "audit.k8s.io/truncated";

export function renderEvent(facts: EventFacts): AuditEvent {
  const { requestObject = "", responseObject = "" } = facts;
  const isTooLong = requestObject.length > maxObjectChars || responseObject.length > maxObjectChars;
  return isTooLong ? renderTruncated(facts) : renderWhole(facts);
}

const renderTruncated = (facts: EventFacts): AuditEvent =>
  renderWhole({
    ...facts,
    requestObject: undefined,
    responseObject: undefined,
    annotations: new Map([...facts.annotations, [truncated, "true"]]),
  });

/** The members are in upstream's order. Written as text, because a recorded request has at least two events. */
function renderWhole(facts: EventFacts): AuditEvent {
  const { requestObject, responseObject } = facts;
  let rest = headOf(facts);
  if (requestObject !== undefined) rest += `,"requestObject":${requestObject}`;
  if (responseObject !== undefined) rest += `,"responseObject":${responseObject}`;
  rest += `,"requestReceivedTimestamp":"${timeOf(facts.receivedMs)}","stageTimestamp":"${timeOf(facts.stageMs)}"`;
  rest += `${annotationsText(facts.annotations)}}`;
  return { stage: facts.stage, rest, legacy: () => renderLegacy(facts), withoutBodies: () => renderTruncated(facts) };
}

function headOf({ level, auditID, stage, requestURI, verb, user, ...facts }: EventFacts): string {
  const { impersonatedUser, sourceIPs, userAgent, objectRef, responseStatus } = facts;
  let head = `"level":"${level}","auditID":${JSON.stringify(auditID)},"stage":"${stage}"`;
  head += `,"requestURI":${JSON.stringify(requestURI)},"verb":${JSON.stringify(verb)},"user":${userText(user)}`;
  if (impersonatedUser) head += `,"impersonatedUser":${userText(impersonatedUser)}`;
  if (sourceIPs.length > 0) head += `,"sourceIPs":${JSON.stringify(sourceIPs)}`;
  if (userAgent) head += `,"userAgent":${JSON.stringify(userAgent)}`;
  if (objectRef) head += `,"objectRef":{${membersText(objectRef).slice(1)}}`;
  if (responseStatus) head += `,"responseStatus":{"metadata":{}${membersText(responseStatus)}}`;
  return head;
}

/** The members that are not empty, each after a comma. */
function membersText(object: object): string {
  let text = "";
  for (const [name, value] of Object.entries(object)) {
    if (value !== "" && value !== undefined) text += `,"${name}":${JSON.stringify(value)}`;
  }
  return text;
}

function annotationsText(annotations: ReadonlyMap<string, string>): string {
  if (annotations.size === 0) return "";
  return `,"annotations":${JSON.stringify(Object.fromEntries([...annotations].sort(byKey)))}`;
}

/** A caller has the same identity in all of its requests. */
function userText(user: UserInfo): string {
  let text = users.get(user);
  if (text === undefined) {
    text = JSON.stringify(userOf(user));
    users.set(user, text);
  }
  return text;
}
const users = new WeakMap<UserInfo, string>();

const userOf = ({ name, uid, groups, extra }: UserInfo): object => ({
  username: name || undefined,
  uid: uid || undefined,
  groups: groups.length > 0 ? groups : undefined,
  extra: extra && Object.keys(extra).length > 0 ? extra : undefined,
});

/** Most events are of the same millisecond as the one before. */
function timeOf(ms: number): string {
  if (ms !== lastTime.ms) lastTime = { ms, text: microTimestamp(ms) };
  return lastTime.text;
}
let lastTime = { ms: Number.NaN, text: "" };

const byKey = ([a]: [string, string], [b]: [string, string]): number => (a < b ? -1 : 1);

function renderLegacy(facts: EventFacts): string {
  const { user, impersonatedUser, objectRef, responseStatus } = facts;
  const groups = user.name && user.groups.length > 0 ? slice(user.groups) : "<none>";
  const asGroups = impersonatedUser ? slice(impersonatedUser.groups) : "<lookup>";
  const pairs = {
    id: facts.auditID,
    stage: facts.stage,
    ip: facts.sourceIPs[0] ?? "<unknown>",
    method: facts.verb,
    user: user.name || "<none>",
    groups,
    as: impersonatedUser?.name ?? "<self>",
    asgroups: asGroups,
    "user-agent": facts.userAgent,
    namespace: objectRef?.namespace || "<none>",
    uri: facts.requestURI,
    response: responseStatus ? String(responseStatus.code) : "<deferred>",
  };
  const text = Object.entries(pairs).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `${microTimestamp(facts.receivedMs)} AUDIT: ${text.join(" ")}`;
}

const slice = (values: readonly string[]): string => values.map((value) => JSON.stringify(value)).join(",");
