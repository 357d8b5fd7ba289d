import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { type RequestInfo, type UserInfo } from "#server/request/pipeline.ts";

/** Decides about a request, or has no opinion. The chain takes the first decision. */
export interface Authorizer {
  readonly name: string;
  authorize(user: UserInfo, info: RequestInfo): Decision | Promise<Decision>;
  /** What it would allow, in a namespace or outside of all with "". Absent if it allows nothing that can be listed. */
  rulesFor?(user: UserInfo, namespace: string): ListedRules;
}

export interface ListedRules {
  readonly rules: readonly PolicyRule[];
  /** What kept it from listing more. */
  readonly faults: readonly string[];
  /** The user may do more than the rules say. */
  readonly incomplete?: boolean;
}

export interface Decision {
  readonly verdict: "allow" | "deny" | "no opinion";
  readonly reason: string;
  /** The decision could not be made properly. Unless another authoriser allows the request, it is answered with 500. */
  readonly error?: string;
}

export const noOpinion: Decision = { verdict: "no opinion", reason: "" };

/** The rules of all authorisers together. */
export function rulesOfAll(authorizers: readonly Authorizer[], user: UserInfo, namespace: string): ListedRules {
  const listed = authorizers.flatMap((authorizer) => authorizer.rulesFor?.(user, namespace) ?? []);
  return {
    rules: listed.flatMap(({ rules }) => rules),
    faults: listed.flatMap(({ faults }) => faults),
    incomplete: listed.some(({ incomplete }) => incomplete),
  };
}
