import { type AccessAnswer, type AccessCheck, type AccessQuestion } from "#cel-kubernetes/authorizer.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { decide } from "#server/authorize/chain.ts";
import { type RequestInfo, type UserInfo } from "#server/request/pipeline.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";

/**
 * Answers what expressions ask about access. An expression cannot wait, but an authoriser may have to: a question without
 * an answer yet is noted, and the expression runs again once it is answered.
 */
export class AccessAnswers implements AccessCheck {
  readonly #authorizers: readonly Authorizer[];
  readonly #user: UserInfo;
  readonly #known = new Map<string, AccessAnswer>();
  readonly #open = new Map<string, AccessQuestion>();

  constructor(authorizers: readonly Authorizer[], user: UserInfo) {
    this.#authorizers = authorizers;
    this.#user = user;
  }

  check(question: AccessQuestion): AccessAnswer {
    const key = JSON.stringify(question);
    const known = this.#known.get(key);
    if (known) return known;
    this.#open.set(key, question);
    return { allowed: false };
  }

  /** Answers what was asked since the last call. Returns whether there was anything: then the expression must run again. */
  async answer(): Promise<boolean> {
    if (this.#open.size === 0) return false;
    const asked = [...this.#open];
    this.#open.clear();
    for (const [key, question] of asked) this.#known.set(key, await this.#decide(question));
    return true;
  }

  async #decide(question: AccessQuestion): Promise<AccessAnswer> {
    try {
      const { verdict, reason, error } = await decide(this.#authorizers, this.#userOf(question), infoOf(question));
      return { allowed: verdict === "allow", reason, ...(error === undefined ? {} : { error }) };
    } catch (error) {
      return { allowed: false, error: messageOf(error) };
    }
  }

  #userOf({ serviceAccount }: AccessQuestion): UserInfo {
    if (!serviceAccount) return this.#user;
    const { namespace, name } = serviceAccount;
    const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
    return { name: `system:serviceaccount:${namespace}:${name}`, groups };
  }
}

function infoOf({ verb, path, resource }: AccessQuestion): RequestInfo {
  if (!resource) return { ...blankRequestInfo, verb, path: path ?? "" };
  const { fieldSelector, labelSelector, ...named } = resource;
  const selectors = { ...(fieldSelector ? { fieldSelector } : {}), ...(labelSelector ? { labelSelector } : {}) };
  return { ...blankRequestInfo, isResource: true, version: "*", verb, ...named, ...selectors };
}
