import { type UserInfo } from "#api/exchange.ts";
import { parseFieldSelector, requiredField } from "#api/meta/field-selector.ts";
import { internalError } from "#api/status.ts";
import { type Chain, runChain, type Waits } from "#lib/async/chain.ts";
import { type Context, type RequestInfo, type Stage } from "#server/request/pipeline.ts";
import { refusalOrFault } from "../refusal.ts";
import { type Authorizer, type Decision } from "./authorizer.ts";
import { forbiddenRequest } from "./forbidden.ts";

/** Passes a request on if an authoriser allows it before another denies it. If none decides, it is refused. */
export function authorize(authorizers: readonly Authorizer[], waits?: Waits): Stage {
  const chain = { ...opinions, waits };
  return (context, next) => {
    const info = withSelector(context);
    const settle = (decision: Decision) => {
      const isAllowed = decision.verdict === "allow";
      if (!isAllowed && decision.error !== undefined) {
        context.annotations.set("authorization.k8s.io/reason", "internal error");
        throw internalError(new Error(decision.error));
      }
      context.annotations.set("authorization.k8s.io/decision", isAllowed ? "allow" : "forbid");
      context.annotations.set("authorization.k8s.io/reason", decision.reason);
      if (!isAllowed) throw forbiddenRequest(context.user, info, decision.reason);
      return next(context);
    };
    const decision = decideBy(chain, authorizers, { user: context.user, info, reasons: [], errors: [] });
    return decision instanceof Promise ? decision.then(settle) : settle(decision);
  };
}

const selecting = new Set(["list", "watch", "deletecollection"]);

/** A list or watch that selects one object by its name counts as a request for that object. */
export function withSelector({ info, query }: Context): RequestInfo {
  if (!selecting.has(info.verb)) return info;
  const fieldSelector = query.get("fieldSelector");
  const labelSelector = query.get("labelSelector");
  const asked = labelSelector ? { ...info, labelSelector } : info;
  if (!fieldSelector) return asked;
  try {
    const fields = parseFieldSelector(fieldSelector);
    if (info.name || info.verb === "deletecollection") return { ...asked, fieldSelector };
    return { ...asked, fieldSelector, name: requiredField(fields, "metadata.name") ?? "" };
  } catch {
    // The endpoint reports what is wrong with it; an invalid selector narrows nothing down.
    return asked;
  }
}

/** The decision of the whole chain, or else all reasons. Creates no promises as long as the chain does not. */
export const decide = (
  authorizers: readonly Authorizer[],
  user: UserInfo,
  info: RequestInfo,
): Decision | Promise<Decision> => decideBy(opinions, authorizers, { user, info, reasons: [], errors: [] });

interface Question {
  readonly user: UserInfo;
  readonly info: RequestInfo;
  /** The reasons of authorisers without a decision. */
  readonly reasons: string[];
  readonly errors: string[];
}

const opinions: Chain<Authorizer, Question, Decision> = {
  what: "authorizer",
  ask(authorizer, question) {
    const decision = authorizer.authorize(question.user, question.info);
    return decision instanceof Promise ? decision.then((late) => opinion(question, late)) : opinion(question, decision);
  },
  meaning: refusalOrFault,
};

function opinion({ reasons, errors }: Question, decision: Decision): Decision | undefined {
  if (decision.verdict !== "no opinion") return decision;
  if (decision.reason) reasons.push(decision.reason);
  if (decision.error !== undefined) errors.push(decision.error);
  return undefined;
}

function decideBy(
  chain: typeof opinions,
  authorizers: readonly Authorizer[],
  question: Question,
): Decision | Promise<Decision> {
  const decision = runChain(chain, authorizers, question);
  return decision instanceof Promise
    ? decision.then((late) => late ?? nobody(question))
    : (decision ?? nobody(question));
}

function nobody({ reasons, errors }: Question): Decision {
  const [error] = errors;
  const reason = reasons.join("\n");
  if (error === undefined) return { verdict: "no opinion", reason };
  return { verdict: "no opinion", reason, error: errors.length === 1 ? error : `[${errors.join(", ")}]` };
}
