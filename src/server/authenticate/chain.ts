import { type ApiRequest, type UserInfo } from "#api/exchange.ts";
import { isStatus, unauthorized } from "#api/status.ts";
import { type Context, type Stage } from "#server/request/pipeline.ts";
import { anonymousUser } from "./anonymous.ts";
import { type Authenticator } from "./authenticator.ts";
import { bearerToken } from "./bearer.ts";

/**
 * Asks the authenticators in order and takes the first identity. A bad credential does not stop the search, for another
 * may know it; but if nobody does, the answer is 401 and never anonymous.
 */
export function authenticate(authenticators: readonly Authenticator[]): Stage {
  return (context, next) => {
    const user = identify(authenticators, context.request);
    if (user instanceof Promise) return user.then((known) => next(as(context, known)));
    return next(as(context, user));
  };
}

function as(context: Context, user: UserInfo): Context {
  context.user = user.name === anonymousUser.name ? user : withAuthenticatedGroup(user);
  return context;
}

/** Stays off promises for as long as the authenticators do: most of them answer at once. */
export function identify(authenticators: readonly Authenticator[], request: ApiRequest): UserInfo | Promise<UserInfo> {
  const search: Search = { authenticators, request, fault: undefined };
  return searchFrom(search, 0);
}

interface Search {
  readonly authenticators: readonly Authenticator[];
  readonly request: ApiRequest;
  /** The first credential that was refused. */
  fault: unknown;
}

function searchFrom(search: Search, start: number): UserInfo | Promise<UserInfo> {
  const { authenticators, request } = search;
  for (let index = start; index < authenticators.length; index++) {
    try {
      const user = authenticators[index]?.authenticate(request);
      if (user instanceof Promise) return settle(search, index, user);
      if (user) return accept(search, user);
    } catch (error) {
      remember(search, error);
    }
  }
  throw search.fault ?? unauthorized();
}

async function settle(search: Search, index: number, pending: Promise<UserInfo | undefined>): Promise<UserInfo> {
  let user: UserInfo | undefined;
  try {
    user = await pending;
  } catch (error) {
    remember(search, error);
  }
  return user ? accept(search, user) : searchFrom(search, index + 1);
}

/** Somebody who showed a credential that nobody knows must hear so, and not be served as a stranger. */
function accept(search: Search, user: UserInfo): UserInfo {
  if (user !== anonymousUser) return user;
  if (search.fault) throw search.fault;
  if (bearerToken(search.request)) throw unauthorized();
  return user;
}

function remember(search: Search, error: unknown): void {
  if (!isStatus(error, "Unauthorized")) throw error;
  search.fault ??= error;
}

const authenticatedGroup = "system:authenticated";
/** The same object for the same identity, so that later stages can remember by it. */
const grouped = new WeakMap<UserInfo, UserInfo>();

export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  const known = grouped.get(user);
  if (known) return known;
  const isMember = user.groups.includes(authenticatedGroup);
  const member = isMember ? user : { ...user, groups: [...user.groups, authenticatedGroup] };
  grouped.set(user, member);
  return member;
}
