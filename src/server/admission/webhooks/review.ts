import { type Resource } from "#api/resource.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { type Webhook } from "./hook.ts";
import { type GroupVersionKind, namespaceOf, type View } from "./view.ts";

export type ReviewVersion = "v1" | "v1beta1";

/** The first version in the webhook's list that we know. */
export function reviewVersionOf({ admissionReviewVersions }: Webhook): ReviewVersion | undefined {
  return admissionReviewVersions.find((version): version is ReviewVersion => version === "v1" || version === "v1beta1");
}

export interface Reviewed {
  readonly uid: string;
  readonly version: ReviewVersion;
  readonly request: AdmissionRequest;
  /** What the webhook gets. */
  readonly view: View;
  /** What the caller sent. */
  readonly original: View;
}

/** The document that a webhook gets. Members without a value are left out, as upstream does. */
export function createReview({ uid, version, request, view, original }: Reviewed): object {
  return {
    kind: "AdmissionReview",
    apiVersion: `admission.k8s.io/${version}`,
    request: { uid, ...describeRequest(request, { view, original }) },
  };
}

/** The members of a review that do not depend on the call: what conditions see as `request` too. */
export function describeRequest(
  request: AdmissionRequest,
  { view, original }: { readonly view: View; readonly original: View },
) {
  const { subresource, name, user, dryRun } = request;
  const { username, ...rest } = { username: user.name, uid: user.uid, groups: user.groups, extra: user.extra };
  return {
    kind: view.kind as GroupVersionKind,
    resource: resourceOf(view.resource),
    ...(subresource ? { subResource: subresource } : {}),
    requestKind: original.kind,
    requestResource: resourceOf(original.resource),
    ...(subresource ? { requestSubResource: subresource } : {}),
    ...(name ? { name } : {}),
    ...(namespaceOf(request) ? { namespace: namespaceOf(request) } : {}),
    operation: view.operation,
    userInfo: {
      username,
      ...(rest.uid ? { uid: rest.uid } : {}),
      ...(rest.groups.length > 0 ? { groups: rest.groups } : {}),
      ...(rest.extra && Object.keys(rest.extra).length > 0 ? { extra: rest.extra } : {}),
    },
    object: view.object ?? null,
    oldObject: view.oldObject ?? null,
    dryRun,
    options: request.options(view.operation) ?? null,
  };
}

const resourceOf = ({ group, version, plural }: Resource) => ({ group, version, resource: plural });
