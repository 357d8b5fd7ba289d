import { type UserInfo } from "#api/exchange.ts";
import { parseFieldSelector } from "#api/meta/field-selector.ts";
import { parseLabelSelector } from "#api/meta/label-selector.ts";
import { type AccessAnswer, type AccessCheck, type AccessQuestion } from "#cel-kubernetes/authorizer.ts";
import { serviceAccountGroups, serviceAccountName } from "#server/authenticate/service-account-claims.ts";
import { type Authorizer, type Decision } from "#server/authorize/authorizer.ts";
import { decide } from "#server/authorize/chain.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { Suspended } from "./suspended.ts";

/**
 * Answers what expressions ask about the rights of the user of one request. Each question is decided once. The number of
 * questions is bounded by what each costs.
 */
export class RequestAccess implements AccessCheck {
  readonly #authorizers: readonly Authorizer[];
  readonly #user: UserInfo;
  readonly #answers = new Map<string, AccessAnswer>();

  constructor(authorizers: readonly Authorizer[], user: UserInfo) {
    this.#authorizers = authorizers;
    this.#user = user;
  }

  /** Throws `Suspended` if the answer has to be waited for. */
  check(question: AccessQuestion): AccessAnswer {
    const key = JSON.stringify(question);
    const known = this.#answers.get(key);
    if (known) return known;
    const decision = decide(this.#authorizers, this.#userOf(question), infoOf(question));
    if (decision instanceof Promise) {
      throw new Suspended(async () => {
        this.#answers.set(key, answerOf(await decision));
      });
    }
    const answer = answerOf(decision);
    this.#answers.set(key, answer);
    return answer;
  }

  #userOf({ serviceAccount }: AccessQuestion): UserInfo {
    if (!serviceAccount) return this.#user;
    const { namespace, name } = serviceAccount;
    return { name: serviceAccountName(namespace, name), groups: serviceAccountGroups(namespace) };
  }
}

const answerOf = ({ verdict, reason, error }: Decision): AccessAnswer => ({
  allowed: verdict === "allow",
  reason,
  ...(error === undefined ? {} : { error }),
});

function infoOf({ verb, path, resource }: AccessQuestion): RequestInfo {
  if (!resource) return { ...blankRequestInfo, verb, path: path ?? "" };
  const { fieldSelector, labelSelector, ...target } = resource;
  return {
    ...blankRequestInfo,
    isResource: true,
    verb,
    version: "*",
    ...target,
    ...(fieldSelector && isParsed(() => parseFieldSelector(fieldSelector)) ? { fieldSelector } : {}),
    ...(labelSelector && isParsed(() => parseLabelSelector(labelSelector)) ? { labelSelector } : {}),
  };
}

/** A selector that cannot be parsed narrows nothing down. */
function isParsed(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch {
    return false;
  }
}
