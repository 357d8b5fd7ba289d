import { type UserInfo } from "#api/exchange.ts";
import { type Authorizer, type Decision, noOpinion } from "./authorizer.ts";

export interface Loopback {
  readonly user: UserInfo;
  readonly authorizer: Authorizer;
}

/**
 * The API server's own identity, for what it writes before there are roles and for the Services that lead to it. It may
 * do anything, but the right belongs to this object, not to its name: a certificate, a token or an impersonation with
 * the name `system:apiserver` is somebody else.
 */
export function createLoopback(): Loopback {
  // Includes the group of authenticated users; otherwise authentication would create another object to add it.
  const user: UserInfo = Object.freeze({ name: "system:apiserver", groups: Object.freeze(["system:authenticated"]) });
  const allowed: Decision = { verdict: "allow", reason: "" };
  return { user, authorizer: { name: "loopback", authorize: (asking) => (asking === user ? allowed : noOpinion) } };
}
