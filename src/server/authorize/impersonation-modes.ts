import { type UserInfo } from "#api/exchange.ts";
import { dns1123Subdomain } from "#api/meta/names.ts";
import { anonymousUser } from "#server/authenticate/anonymous.ts";
import { serviceAccountGroups, splitServiceAccountName } from "#server/authenticate/service-account-claims.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { type WantedUser } from "./impersonation-headers.ts";
import { privilegedGroup } from "./privileged.ts";

/** A question to the authorisers: it must be allowed. `refusal`: the answer is known to be no. */
export interface Question {
  readonly info: RequestInfo;
  readonly refusal?: string;
  /** One permission that makes the questions after it needless. */
  readonly coversRest?: true;
}

/** One way to be allowed to act as somebody else. */
export interface ImpersonationMode {
  /** "" for the old way: the right to be that user, for any request. */
  readonly name: string;
  /** Whether a user can be impersonated in this way. */
  applies(wanted: WantedUser, requester: UserInfo): boolean;
}

/**
 * In the order in which they are tried. The constrained ways need two rights: to be that user (`impersonate:<mode>`),
 * and to send this request as that user (`impersonate-on:<mode>:<verb>`).
 */
export const impersonationModes: readonly ImpersonationMode[] = [
  { name: "associated-node", applies: (wanted, requester) => isOnlyName(wanted) && isOwnNode(wanted, requester) },
  { name: "arbitrary-node", applies: (wanted) => isOnlyName(wanted) && nodeNameOf(wanted.name) !== undefined },
  { name: "serviceaccount", applies: (wanted) => isOnlyName(wanted) && isAccount(wanted.name) },
  { name: "user-info", applies: ({ name }) => nodeNameOf(name) === undefined && !isAccount(name) },
  { name: "", applies: () => true },
];

const nodePrefix = "system:node:";
const nodeNameKey = "authentication.kubernetes.io/node-name";

function nodeNameOf(user: string): string | undefined {
  const name = user.slice(nodePrefix.length);
  return user.startsWith(nodePrefix) && dns1123Subdomain(name) === undefined ? name : undefined;
}
const isAccount = (user: string): boolean => splitServiceAccountName(user) !== undefined;
const isOnlyName = ({ uid, groups, extra }: WantedUser): boolean =>
  uid === "" && groups.length === 0 && Object.keys(extra).length === 0;

/** A pod may act as the node that it runs on. */
function isOwnNode({ name }: WantedUser, requester: UserInfo): boolean {
  const [node, ...more] = requester.extra?.[nodeNameKey] ?? [];
  return isAccount(requester.name) && node !== undefined && more.length === 0 && nodeNameOf(name) === node;
}

const authentication = { group: "authentication.k8s.io", version: "v1" };

/** Everything that must be allowed for this mode, in order. */
export function questionsFor(mode: ImpersonationMode, wanted: WantedUser, request: RequestInfo): Question[] {
  const isConstrained = mode.name !== "";
  const verb = isConstrained ? `impersonate:${mode.name}` : "impersonate";
  const place = isConstrained ? authentication : { group: "", version: "v1" };
  const ask = (part: Partial<RequestInfo>): RequestInfo => ({ ...blankRequestInfo, isResource: true, verb, ...part });
  return [
    ...(isConstrained ? [{ info: { ...request, verb: `impersonate-on:${mode.name}:${request.verb}` } }] : []),
    { info: ask({ ...place, ...subjectOf(mode, wanted.name) }) },
    ...(wanted.uid ? [{ info: ask({ ...authentication, resource: "uids", name: wanted.uid }) }] : []),
    ...groupQuestions(wanted.groups, isConstrained, (name) => ask({ ...place, resource: "groups", name })),
    ...extraQuestions(wanted.extra, isConstrained, (subresource, name) =>
      ask({ ...authentication, resource: "userextras", subresource, name }),
    ),
  ];
}

function subjectOf(mode: ImpersonationMode, name: string): Partial<RequestInfo> {
  const account = splitServiceAccountName(name);
  if (account) return { resource: "serviceaccounts", ...account };
  const node = mode.name === "" ? undefined : nodeNameOf(name);
  if (node === undefined) return { resource: "users", name };
  // The right is to be one's own node, wherever that is.
  return { resource: "nodes", name: mode.name === "associated-node" ? "*" : node };
}

/** From so many on, the right to all of them is asked for first. */
const many = 4;

function groupQuestions(
  groups: readonly string[],
  isConstrained: boolean,
  ask: (name: string) => RequestInfo,
): Question[] {
  const each = groups.map((name) => ({ info: ask(name) }));
  if (!isConstrained || groups.length === 0) return each;
  if (groups.includes("")) return [{ info: ask(""), refusal: "impersonating the empty string group is not allowed" }];
  if (groups.includes(privilegedGroup)) {
    const refusal = `impersonating the ${privilegedGroup} group is not allowed`;
    return [{ info: ask(privilegedGroup), refusal }];
  }
  return groups.length < many ? each : [{ info: ask("*"), coversRest: true }, ...each];
}

function extraQuestions(
  extra: WantedUser["extra"],
  isConstrained: boolean,
  ask: (key: string, value: string) => RequestInfo,
): Question[] {
  const entries = Object.entries(extra);
  const each = entries.flatMap(([key, values]) => values.map((value) => ({ info: ask(key, value) })));
  if (!isConstrained || entries.length === 0) return each;
  const refusal = entries.map(extraFault).find((fault) => fault !== undefined);
  if (refusal) return [{ info: ask("", ""), refusal }];
  const isLarge = entries.length >= many || each.length >= many;
  return isLarge ? [{ info: ask("*", "*"), coversRest: true }, ...each] : each;
}

function extraFault([key, values]: readonly [key: string, values: readonly string[]]): string | undefined {
  if (key === "") return "impersonating the empty string key in extra is not allowed";
  const [domain = "", ...path] = key.split("/");
  if (dns1123Subdomain(domain) !== undefined || path.join("/") === "") {
    return `impersonating an invalid key in extra is not allowed: extra.key: Invalid value: ${JSON.stringify(key)}: must be a domain-prefixed path (such as "acme.io/foo")`;
  }
  if (key !== key.toLowerCase())
    return `impersonating a non-lowercase key in extra is not allowed: ${JSON.stringify(key)}`;
  return values.includes("") ? "impersonating the empty string value in extra is not allowed" : undefined;
}

/** The user that the request becomes: what it asked for, and the groups that follow from its name. */
export function impersonatedUser(mode: ImpersonationMode, { name, groups: asked, uid, extra }: WantedUser): UserInfo {
  const account = splitServiceAccountName(name);
  const isNode = mode.name !== "" && nodeNameOf(name) !== undefined;
  const groups = [...asked];
  if (isNode) groups.push("system:nodes");
  else if (asked.length === 0 && account) groups.push(...serviceAccountGroups(account.namespace));
  const nobody = "system:unauthenticated";
  const wanted = name === anonymousUser.name ? nobody : "system:authenticated";
  if (!groups.includes(wanted) && !groups.includes(nobody)) groups.push(wanted);
  return { name, groups, ...(uid ? { uid } : {}), ...(Object.keys(extra).length > 0 ? { extra } : {}) };
}
