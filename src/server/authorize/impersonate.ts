import { type ApiRequest, type UserInfo } from "#api/exchange.ts";
import { badRequest } from "#api/status.ts";
import { anonymousUser } from "#server/authenticate/anonymous.ts";
import { serviceAccountGroups, splitServiceAccountName } from "#server/authenticate/service-account-claims.ts";
import { type RequestInfo, type Stage } from "#server/request/pipeline.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { type Authorizer } from "./authorizer.ts";
import { decide } from "./chain.ts";
import { forbiddenRequest } from "./forbidden.ts";

/** Lets users with the right to `impersonate` act as somebody else for one request. */
export function impersonate(authorizers: readonly Authorizer[]): Stage {
  return (context, next) => {
    const wanted = readWanted(context.request.headers);
    if (!wanted) return next(context);
    return allowAll(authorizers, context.user, questionsFor(wanted)).then(() => {
      context.user = userFor(wanted);
      return next(context);
    });
  };
}

interface Wanted {
  readonly user: string;
  readonly groups: readonly string[];
  readonly uid: string;
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

const extraPrefix = "impersonate-extra-";

/** undefined if the request does not impersonate. */
function readWanted(headers: ApiRequest["headers"]): Wanted | undefined {
  let found = false;
  const extras: [key: string, values: string[]][] = [];
  for (const name in headers) {
    if (!name.startsWith("impersonate-")) continue;
    found = true;
    if (name.startsWith(extraPrefix)) extras.push([decoded(name.slice(extraPrefix.length)), values(headers[name])]);
  }
  if (!found) return undefined;
  // Creates own properties of any name, even `__proto__`: exactly what was authorised is impersonated.
  const extra = Object.fromEntries(extras);
  const user = headers["impersonate-user"] ?? "";
  const groups = values(headers["impersonate-group"]);
  const uid = headers["impersonate-uid"] ?? "";
  if (user) return { user, groups, uid, extra };
  const parts = [...groups.map((name) => `group ${name}`), ...Object.keys(extra).map((key) => `extra ${key}`)];
  if (uid) parts.push(`uid ${uid}`);
  if (parts.length === 0) return undefined;
  throw badRequest(`requested [${parts.join(" ")}] without impersonating a user`);
}

/** Headers that were sent more than once are joined with a comma and a space. */
const values = (header: string | undefined): string[] => (header ? header.split(", ") : []);

function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    // Unchanged: upstream keeps keys with invalid encoding.
    return key;
  }
}

function questionsFor({ user, groups, uid, extra }: Wanted): RequestInfo[] {
  const account = splitServiceAccountName(user);
  const authentication = { group: "authentication.k8s.io", version: "v1" };
  return [
    account ? question({ resource: "serviceaccounts", ...account }) : question({ resource: "users", name: user }),
    ...groups.map((name) => question({ resource: "groups", name })),
    ...Object.entries(extra).flatMap(([subresource, list]) =>
      list.map((name) => question({ ...authentication, resource: "userextras", subresource, name })),
    ),
    ...(uid ? [question({ ...authentication, resource: "uids", name: uid })] : []),
  ];
}

const question = (part: Partial<RequestInfo>): RequestInfo => ({
  ...blankRequestInfo,
  isResource: true,
  verb: "impersonate",
  version: "v1",
  ...part,
});

async function allowAll(authorizers: readonly Authorizer[], user: UserInfo, questions: RequestInfo[]): Promise<void> {
  for (const info of questions) {
    const decision = await decide(authorizers, user, info);
    if (decision.verdict !== "allow") throw forbiddenRequest(user, info, decision.reason);
  }
}

function userFor({ user: name, groups: asked, uid, extra }: Wanted): UserInfo {
  const account = splitServiceAccountName(name);
  const groups = asked.length === 0 && account ? serviceAccountGroups(account.namespace) : [...asked];
  const [member, other] =
    name === anonymousUser.name
      ? ["system:unauthenticated", "system:unauthenticated"]
      : ["system:authenticated", "system:unauthenticated"];
  if (!groups.includes(member) && !groups.includes(other)) groups.push(member);
  return { name, groups, ...(uid ? { uid } : {}), ...(Object.keys(extra).length > 0 ? { extra } : {}) };
}
