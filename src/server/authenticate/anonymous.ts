import { type UserInfo } from "#api/exchange.ts";
import { type Authenticator } from "./authenticator.ts";

export const anonymousUser: UserInfo = { name: "system:anonymous", groups: ["system:unauthenticated"] };

export interface AnonymousOptions {
  /** Only these paths; absent means that authorisation decides alone (by default: health and version). */
  readonly paths?: readonly string[];
}

/** Takes those who show nothing at all. Stands last in the chain. */
export function anonymous({ paths }: AnonymousOptions = {}): Authenticator {
  const only = paths && new Set(paths);
  return {
    name: "anonymous",
    authenticate: ({ path }) => (only && !only.has(path) ? undefined : anonymousUser),
  };
}
