import { type Context } from "#server/request/pipeline.ts";
import { type Authorizer } from "./authorizer.ts";
import { decide } from "./chain.ts";
import { forbiddenRequest } from "./forbidden.ts";

/**
 * Throws 403 unless the user may also create what the request names. For requests that were authorised with another
 * verb and turn out to create something: a PUT or an apply of an object that does not exist, or a WebSocket that begins
 * with GET.
 */
export async function mayCreate(authorizers: readonly Authorizer[], { user, info }: Context): Promise<void> {
  if (info.verb === "create") return;
  const asked = { ...info, verb: "create" };
  const decision = await decide(authorizers, user, asked);
  if (decision.verdict !== "allow") throw forbiddenRequest(user, asked, decision.reason);
}
