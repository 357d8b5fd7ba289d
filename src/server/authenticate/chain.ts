import { type ApiRequest, type UserInfo } from "#api/exchange.ts";
import { isStatus, unauthorized } from "#api/status.ts";
import { type Chain, runChain, type Waits } from "#lib/async/chain.ts";
import { type Context, type Stage } from "#server/request/pipeline.ts";
import { refusalOrFault } from "../refusal.ts";
import { anonymousUser } from "./anonymous.ts";
import { type Authenticator } from "./authenticator.ts";
import { bearerToken } from "./bearer.ts";

/**
 * Asks the authenticators in order and takes the first identity. A bad credential does not end the search, because
 * another authenticator may know it. If none does, the response is 401, never anonymous.
 */
export function authenticate(authenticators: readonly Authenticator[], waits?: Waits): Stage {
  const chain = { ...identities, waits };
  return (context, next) => {
    const user = identify(authenticators, context.request, chain);
    if (user instanceof Promise) return user.then((known) => next(as(context, known)));
    return next(as(context, user));
  };
}

function as(context: Context, user: UserInfo): Context {
  context.user = user.name === anonymousUser.name ? user : withAuthenticatedGroup(user);
  return context;
}

interface Search {
  readonly request: ApiRequest;
  /** The error of the first refused credential. */
  fault: unknown;
}

const identities: Chain<Authenticator, Search, UserInfo> = {
  what: "authenticator",
  ask: (authenticator, { request }) => authenticator.authenticate(request),
  meaning(error, search) {
    if (!isStatus(error, "Unauthorized")) return refusalOrFault(error);
    search.fault ??= error;
    return "next";
  },
};

/** Creates no promises as long as the authenticators do not: most of them answer synchronously. */
export function identify(
  authenticators: readonly Authenticator[],
  request: ApiRequest,
  chain = identities,
): UserInfo | Promise<UserInfo> {
  const search: Search = { request, fault: undefined };
  const user = runChain(chain, authenticators, search);
  return user instanceof Promise ? user.then((known) => accept(search, known)) : accept(search, user);
}

/** A caller with an unknown credential must get an error, and not be treated as anonymous. */
function accept({ request, fault }: Search, user: UserInfo | undefined): UserInfo {
  if (user && user !== anonymousUser) return user;
  if (fault) throw fault;
  if (!user || bearerToken(request)) throw unauthorized();
  return user;
}

const authenticatedGroup = "system:authenticated";
/** The same object for the same identity, so that later stages can use it as a cache key. */
const grouped = new WeakMap<UserInfo, UserInfo>();

export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  const known = grouped.get(user);
  if (known) return known;
  const isMember = user.groups.includes(authenticatedGroup);
  const member = isMember ? user : { ...user, groups: [...user.groups, authenticatedGroup] };
  grouped.set(user, member);
  return member;
}
