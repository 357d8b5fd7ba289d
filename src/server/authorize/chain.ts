import { type UserInfo } from "#api/exchange.ts";
import { parseFieldSelector, requiredField } from "#api/meta/field-selector.ts";
import { type Context, type RequestInfo, type Stage } from "#server/request/pipeline.ts";
import { type Authorizer, type Decision } from "./authorizer.ts";
import { forbiddenRequest } from "./forbidden.ts";

/** Lets a request through if an authoriser allows it before another denies it; nobody's opinion is a no. */
export function authorize(authorizers: readonly Authorizer[]): Stage {
  return (context, next) => {
    const info = withSelector(context);
    const settle = (decision: Decision) => {
      const isAllowed = decision.verdict === "allow";
      context.annotations.set("authorization.k8s.io/decision", isAllowed ? "allow" : "forbid");
      context.annotations.set("authorization.k8s.io/reason", decision.reason);
      if (!isAllowed) throw forbiddenRequest(context.user, info, decision.reason);
      return next(context);
    };
    const decision = decide(authorizers, context.user, info);
    return decision instanceof Promise ? decision.then(settle) : settle(decision);
  };
}

const selecting = new Set(["list", "watch", "deletecollection"]);

/** A list or watch that selects one object by its name counts as a request for that object. */
function withSelector({ info, query }: Context): RequestInfo {
  if (!selecting.has(info.verb)) return info;
  const fieldSelector = query.get("fieldSelector");
  if (!fieldSelector) return info;
  try {
    const fields = parseFieldSelector(fieldSelector);
    if (info.name || info.verb === "deletecollection") return { ...info, fieldSelector };
    return { ...info, fieldSelector, name: requiredField(fields, "metadata.name") ?? "" };
  } catch {
    // The endpoint will say what is wrong with it; a selector that cannot be read narrows nothing down.
    return info;
  }
}

/** The verdict of the whole chain; without one, everybody's reasons. Stays off promises for as long as the chain does. */
export function decide(
  authorizers: readonly Authorizer[],
  user: UserInfo,
  info: RequestInfo,
): Decision | Promise<Decision> {
  return decideFrom({ authorizers, user, info, reasons: [] }, 0);
}

interface Question {
  readonly authorizers: readonly Authorizer[];
  readonly user: UserInfo;
  readonly info: RequestInfo;
  readonly reasons: string[];
}

function decideFrom(question: Question, start: number): Decision | Promise<Decision> {
  const { authorizers, user, info, reasons } = question;
  for (let index = start; index < authorizers.length; index++) {
    const decision = authorizers[index]?.authorize(user, info);
    if (!decision) continue;
    if (decision instanceof Promise)
      return decision.then((late) => opinion(question, late) ?? decideFrom(question, index + 1));
    const final = opinion(question, decision);
    if (final) return final;
  }
  return { verdict: "no opinion", reason: reasons.join("\n") };
}

function opinion({ reasons }: Question, decision: Decision): Decision | undefined {
  if (decision.verdict !== "no opinion") return decision;
  if (decision.reason) reasons.push(decision.reason);
  return undefined;
}
