import { SelfSubjectReview } from "#api/authentication/self-subject-review.ts";
import { TokenRequest } from "#api/authentication/token-request.ts";
import { TokenReview } from "#api/authentication/token-review.ts";
import { LocalSubjectAccessReview } from "#api/authorization/local-subject-access-review.ts";
import { SelfSubjectAccessReview } from "#api/authorization/self-subject-access-review.ts";
import { SelfSubjectRulesReview } from "#api/authorization/self-subject-rules-review.ts";
import { SubjectAccessReview } from "#api/authorization/subject-access-review.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type UserInfo } from "#api/exchange.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { reviewFaults } from "#api/rules.ts";
import { invalid, type StatusError } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type FieldError } from "#schema/field-error.ts";
import { type Admission } from "#server/admission/chain.ts";
import { bodyTooLarge, maxReviewBytes } from "#server/http/limits.ts";
import { readObject } from "#server/input/body.ts";
import { writeOptions } from "#server/input/options.ts";
import { type Context } from "#server/request/pipeline.ts";
import { admissionRequest } from "#server/write/steps/admit.ts";
import { checkNamespace } from "#server/write/steps/identity.ts";
import { type Write } from "#server/write/write.ts";
import { type Endpoint } from "../dispatch.ts";
import {
  type AccessReviewDeps,
  reviewLocalSubjectAccess,
  reviewSelfSubjectAccess,
  reviewSelfSubjectRules,
  reviewSubjectAccess,
} from "./access-review.ts";
import { requestToken, type TokenIssuer } from "./token-request.ts";
import { reviewSelf, reviewToken, type TokenReviewDeps } from "./token-review.ts";

export interface ReviewDeps extends AccessReviewDeps, TokenReviewDeps {
  readonly clock: Clock;
}

/** Kinds that are questions: the posted object is returned with its status, and is not stored. */
export function reviewEndpoints(deps: ReviewDeps): ReadonlyMap<string, Endpoint> {
  return new Map([
    [
      "subjectaccessreviews.authorization.k8s.io",
      reviewed(SubjectAccessReview, (review, context) => reviewSubjectAccess(deps, review, askerOf(context))),
    ],
    [
      "localsubjectaccessreviews.authorization.k8s.io",
      reviewed(LocalSubjectAccessReview, (review, context) =>
        reviewLocalSubjectAccess(deps, review, { namespace: context.info.namespace, asker: askerOf(context) }),
      ),
    ],
    [
      "selfsubjectaccessreviews.authorization.k8s.io",
      reviewed(SelfSubjectAccessReview, (review, context) =>
        reviewSelfSubjectAccess(deps, review, context.user, askerOf(context)),
      ),
    ],
    [
      "selfsubjectrulesreviews.authorization.k8s.io",
      reviewed(SelfSubjectRulesReview, (review, { user }) => reviewSelfSubjectRules(deps, review, user)),
    ],
    ["tokenreviews.authentication.k8s.io", reviewed(TokenReview, (review) => reviewToken(deps, review))],
    [
      "selfsubjectreviews.authentication.k8s.io",
      reviewed(SelfSubjectReview, (review, { user }) => reviewSelf(review, user, deps.clock)),
    ],
  ]);
}

/** Who wants to know: an administrator may ask as somebody else. */
const askerOf = ({ user, impersonator }: Context): UserInfo => impersonator ?? user;

/** POST serviceaccounts/NAME/token: admitted like a write, because nodes may request only tokens of their pods. */
export const tokenEndpoint = (issuer: TokenIssuer, admission: Admission): Endpoint =>
  reviewed(TokenRequest, async (request, context) => {
    const { info, warnings } = context;
    const { namespace, name } = info;
    const options = writeOptions(context, "CreateOptions");
    const write: Write = { context, resource: ServiceAccount, subresource: "token", namespace, name, options };
    const object = { ...request, kind: TokenRequest.kind, apiVersion: apiVersionOf(TokenRequest) };
    const admitted = admissionRequest(write, "CREATE", { object });
    await admission.mutate(admitted);
    await admission.validate(admitted);
    return requestToken(issuer, { namespace, name, request, warn: (message) => warnings.push(message) });
  });

function reviewed<T extends ApiObject>(
  resource: Resource<T>,
  answer: (object: T, context: Context) => T | Promise<T>,
): Endpoint {
  return async (context) => {
    const options = writeOptions(context, "CreateOptions");
    if ((context.request.body?.length ?? 0) > maxReviewBytes) throw bodyTooLarge(maxReviewBytes);
    const object = await readObject(context, resource, options);
    if (resource.scope === "Namespaced") placeInRequest(object, context.info.namespace);
    const faults = reviewFaults(resource, object);
    if (faults.length > 0) throw refused(resource, object, faults);
    const value = { ...(await answer(object, context)), kind: resource.kind, apiVersion: apiVersionOf(resource) };
    return { type: "value", status: 201, value, schema: resource.schema };
  };
}

/** A review belongs to the namespace in its path, whether it says so or not. */
function placeInRequest({ metadata }: ApiObject, namespace: string): void {
  checkNamespace(metadata.namespace, namespace);
  metadata.namespace = namespace;
}

/** Upstream names neither the kind nor the object of an access review. */
function refused(resource: Resource, { metadata }: ApiObject, faults: readonly FieldError[]): StatusError {
  const { group } = resource;
  if (group === SubjectAccessReview.group) return invalid({ group, kind: "" }, "", faults);
  return invalid(resource, metadata.name ?? "", faults);
}
