import { type UserInfo } from "#api/exchange.ts";
import { type StatusError } from "#api/status.ts";
import { type Context, type Stage } from "#server/request/pipeline.ts";
import { type Authorizer } from "./authorizer.ts";
import { decide, withSelector } from "./chain.ts";
import { forbiddenRequest } from "./forbidden.ts";
import { readWanted, type WantedUser } from "./impersonation-headers.ts";
import { impersonatedUser, impersonationModes, type Question, questionsFor } from "./impersonation-modes.ts";

/**
 * Lets users who may do so act as somebody else for one request. The first way that is allowed counts; if none is, the
 * error of the first way is returned.
 */
export function impersonate(authorizers: readonly Authorizer[]): Stage {
  return (context, next) => {
    const wanted = readWanted(context.request);
    return wanted ? actAs(wanted, { authorizers, context }).then(() => next(context)) : next(context);
  };
}

interface Acting {
  readonly authorizers: readonly Authorizer[];
  readonly context: Context;
}

async function actAs(wanted: WantedUser, { authorizers, context }: Acting): Promise<void> {
  const { user: requester } = context;
  const request = withSelector(context);
  let refusal: StatusError | undefined;
  for (const mode of impersonationModes) {
    if (!mode.applies(wanted, requester)) continue;
    const asking = mode.name === "associated-node" ? withoutValues(requester) : requester;
    const fault = await refusalOf(authorizers, asking, questionsFor(mode, wanted, request));
    if (!fault) {
      context.user = impersonatedUser(mode, wanted);
      return;
    }
    refusal ??= fault;
  }
  throw refusal;
}

/** The error of the first question that is not allowed. */
async function refusalOf(
  authorizers: readonly Authorizer[],
  user: UserInfo,
  questions: readonly Question[],
): Promise<StatusError | undefined> {
  let covered: string | undefined;
  for (const { info, refusal, coversRest } of questions) {
    if (refusal !== undefined) return forbiddenRequest(user, info, refusal);
    if (info.resource === covered) continue;
    const { verdict, reason, error } = await decide(authorizers, user, info);
    if (verdict === "allow" && coversRest) covered = info.resource;
    if (verdict !== "allow" && !coversRest) return forbiddenRequest(user, info, whyNot(reason, error));
  }
  return undefined;
}

const whyNot = (reason: string, error: string | undefined): string =>
  [error, reason].filter((text) => text !== undefined && text !== "").join(": ");

/** The right of a pod to be its node is the same on every node, so the authorisers see only which facts are known. */
const withoutValues = (user: UserInfo): UserInfo => ({
  ...user,
  extra: { "authentication.kubernetes.io/associated-node-keys": Object.keys(user.extra ?? {}).sort() },
});
