import { type ApiRequest, type UserInfo } from "#api/exchange.ts";
import { tokenProtocolPrefix } from "#lib/net/upgrade.ts";
import { type Authenticator } from "./authenticator.ts";

/** Recognises a kind of token, both in requests and in TokenReviews. */
export interface TokenAuthenticator {
  readonly name: string;
  /**
   * undefined: not this kind of token. A token of this kind that is no longer valid throws `unauthorized()`. Without
   * `audiences` the token must be for the API server. `address` is where it came from, for limits.
   */
  authenticateToken(
    token: string,
    audiences?: readonly string[],
    address?: string,
  ): TokenIdentity | undefined | Promise<TokenIdentity | undefined>;
}

export interface TokenIdentity {
  readonly user: UserInfo;
  /** The requested audiences that the token is for; absent if the token has no audiences. */
  readonly audiences?: readonly string[];
}

/** Applies a token authenticator to the `Authorization` header. */
export const bearer = (tokens: TokenAuthenticator): Authenticator => ({
  name: tokens.name,
  authenticate(request) {
    const token = bearerToken(request);
    if (!token) return undefined;
    const identity = tokens.authenticateToken(token, undefined, request.peer.address);
    return identity instanceof Promise ? identity.then((known) => known?.user) : identity?.user;
  },
});

/** The bearer token of a request, if it has one. Browsers can only send it as a WebSocket protocol. */
export function bearerToken({ headers }: Pick<ApiRequest, "headers">): string | undefined {
  const { authorization } = headers;
  if (authorization !== undefined) {
    const [scheme = "", token] = authorization.trim().split(" ", 2);
    return scheme.toLowerCase() === "bearer" && token ? token : undefined;
  }
  const protocols = headers["sec-websocket-protocol"];
  return protocols === undefined ? undefined : protocolToken(protocols);
}

function protocolToken(protocols: string): string | undefined {
  for (const protocol of protocols.split(",")) {
    const name = protocol.trim();
    if (name.startsWith(tokenProtocolPrefix)) {
      return Buffer.from(name.slice(tokenProtocolPrefix.length), "base64url").toString("utf8") || undefined;
    }
  }
  return undefined;
}
