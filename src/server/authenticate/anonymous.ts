import { type UserInfo } from "#api/exchange.ts";
import { type Authenticator } from "./authenticator.ts";

export const anonymousUser: UserInfo = { name: "system:anonymous", groups: ["system:unauthenticated"] };

export interface AnonymousOptions {
  /** Only these paths; if absent, authorisation alone decides (by default: health and version). */
  readonly paths?: readonly string[];
}

/** Accepts requests without credentials. Must be last in the chain. */
export function anonymous({ paths }: AnonymousOptions = {}): Authenticator {
  const only = paths && new Set(paths);
  return {
    name: "anonymous",
    authenticate: ({ path }) => (only && !only.has(path) ? undefined : anonymousUser),
  };
}
