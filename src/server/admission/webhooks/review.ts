import { describeRequest } from "../matching/describe-request.ts";
import { type SentRequest } from "../matching/sent-request.ts";
import { type Webhook } from "./hook.ts";

export type ReviewVersion = "v1" | "v1beta1";

/** The first version in the webhook's list that we know. */
export function reviewVersionOf({ admissionReviewVersions }: Webhook): ReviewVersion | undefined {
  return admissionReviewVersions.find((version): version is ReviewVersion => version === "v1" || version === "v1beta1");
}

export interface Reviewed {
  readonly uid: string;
  readonly version: ReviewVersion;
  /** What the webhook gets. */
  readonly view: SentRequest;
  /** What the caller sent. */
  readonly original: SentRequest;
}

/** The document that a webhook gets. */
export function createReview({ uid, version, view, original }: Reviewed): object {
  const { object = null, oldObject = null, options = null } = view;
  return {
    kind: "AdmissionReview",
    apiVersion: `admission.k8s.io/${version}`,
    request: { uid, ...describeRequest(view, original), object, oldObject, options },
  };
}
