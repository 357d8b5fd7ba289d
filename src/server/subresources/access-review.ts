import { type NonResourceAttributes, type ResourceAttributes } from "#api/authorization/attributes.ts";
import { type LocalSubjectAccessReview } from "#api/authorization/local-subject-access-review.ts";
import { type SelfSubjectAccessReview } from "#api/authorization/self-subject-access-review.ts";
import { type SelfSubjectRulesReview } from "#api/authorization/self-subject-rules-review.ts";
import { type SubjectAccessReview, type SubjectAccessReviewSpec } from "#api/authorization/subject-access-review.ts";
import { type UserInfo } from "#api/exchange.ts";
import { badRequest } from "#api/status.ts";
import { type Authorizer, rulesOfAll } from "#server/authorize/authorizer.ts";
import { decide } from "#server/authorize/chain.ts";
import { type ExplainRefusal, readingRoles } from "#server/authorize/roles-that-allow.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { selectorsOf } from "./review-selectors.ts";

export interface AccessReviewDeps {
  readonly authorizers: readonly Authorizer[];
  /** Explains a refusal to those who may read the roles. */
  readonly explain?: ExplainRefusal;
}

/** Whether a user may do something. The review has been validated; `asker` is who wants to know. */
export async function reviewSubjectAccess(
  deps: AccessReviewDeps,
  review: SubjectAccessReview,
  asker?: UserInfo,
): Promise<SubjectAccessReview> {
  return { ...review, status: await answer(deps, { user: userOf(review.spec), asker }, review.spec) };
}

/** The same within the namespace of the request. */
export async function reviewLocalSubjectAccess(
  deps: AccessReviewDeps,
  review: LocalSubjectAccessReview,
  { namespace, asker }: { readonly namespace: string; readonly asker?: UserInfo },
): Promise<LocalSubjectAccessReview> {
  if (review.metadata.namespace !== namespace) {
    throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`);
  }
  return { ...review, status: await answer(deps, { user: userOf(review.spec), asker }, review.spec) };
}

/** `kubectl auth can-i`; with `--as`, the asker acts as the user. */
export async function reviewSelfSubjectAccess(
  deps: AccessReviewDeps,
  review: SelfSubjectAccessReview,
  user: UserInfo,
  asker = user,
): Promise<SelfSubjectAccessReview> {
  return { ...review, status: await answer(deps, { user, asker }, review.spec) };
}

/** `kubectl auth can-i --list`. What the node authoriser or a webhook would allow cannot be listed. */
export function reviewSelfSubjectRules(
  { authorizers }: AccessReviewDeps,
  review: SelfSubjectRulesReview,
  user: UserInfo,
): SelfSubjectRulesReview {
  const { namespace } = review.spec;
  if (!namespace) throw badRequest("no namespace on request");
  const { rules, faults, incomplete = false } = rulesOfAll(authorizers, user, namespace);
  const errors = [...new Set(faults)];
  return {
    ...review,
    metadata: {},
    spec: {},
    status: {
      resourceRules: rules.filter(({ resources }) => resources && resources.length > 0).map(copied),
      nonResourceRules: rules
        .filter(({ nonResourceURLs }) => nonResourceURLs && nonResourceURLs.length > 0)
        .map(({ verbs, nonResourceURLs }) => copied({ verbs, ...(nonResourceURLs ? { nonResourceURLs } : {}) })),
      incomplete,
      ...(errors.length > 0
        ? { evaluationError: errors.length === 1 ? (errors[0] ?? "") : `[${errors.join(", ")}]` }
        : {}),
    },
  };
}

/** A copy, because roles are shared objects. */
const copied = <T extends object>(rule: T): T => structuredClone(rule);

interface Attributes {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
}

async function answer(
  { authorizers, explain }: AccessReviewDeps,
  { user, asker }: { readonly user: UserInfo; readonly asker?: UserInfo | undefined },
  spec: Attributes,
) {
  const info = requestFor(spec);
  const { verdict, reason, error } = await decide(authorizers, user, info);
  const mayKnow = explain && asker && verdict === "no opinion" && (await decide(authorizers, asker, readingRoles));
  const why = mayKnow && mayKnow.verdict === "allow" ? [reason, explain(info)].filter(Boolean).join("; ") : reason;
  const faults = [...(error === undefined ? [] : [error]), ...selectorsOf(spec.resourceAttributes ?? {}).faults];
  return {
    allowed: verdict === "allow",
    ...(verdict === "deny" ? { denied: true } : {}),
    ...(why ? { reason: why } : {}),
    ...(faults.length > 0 ? { evaluationError: faults.join("; ") } : {}),
  };
}

function userOf({ user = "", uid, groups = [], extra }: SubjectAccessReviewSpec): UserInfo {
  return { name: user, groups, ...(uid ? { uid } : {}), ...(extra ? { extra } : {}) };
}

function requestFor(spec: Attributes): RequestInfo {
  const { resourceAttributes: asked, nonResourceAttributes } = spec;
  if (!asked) {
    const { verb = "", path = "" } = nonResourceAttributes ?? {};
    return { ...blankRequestInfo, verb, path };
  }
  const { verb = "", group = "", version = "", resource = "", subresource = "", namespace = "", name = "" } = asked;
  const { faults: _ignored, ...selectors } = selectorsOf(asked);
  const info = { ...blankRequestInfo, isResource: true, verb, group, version, resource, subresource, namespace, name };
  return { ...info, ...selectors };
}
