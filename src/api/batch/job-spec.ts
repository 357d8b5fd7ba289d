import { PodTemplateSpec } from "#api/core/pod-template.ts";
import { LabelSelector } from "#api/meta/label-selector.ts";
import { defaulted, nullable, optional, present, stated } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import {
  atomicList,
  boolean,
  int32,
  int64,
  known,
  listedOneOf,
  oneOf,
  setOf,
  string,
  unlisted,
} from "#schema/types.ts";

const object = inPackage("batch/v1");

const PodFailurePolicyOnExitCodesRequirement = object(
  "PodFailurePolicyOnExitCodesRequirement",
  "A condition on the exit codes of a failed pod's containers.",
  {
    containerName: nullable(
      1,
      string(),
      "Name of the container whose exit code is checked; every container if absent.",
    ),
    operator: present(
      2,
      oneOf("In", "NotIn"),
      "Whether the exit code must be one of the values (In), or none (NotIn).",
    ),
    values: present(3, setOf(int32()), "Exit codes in ascending order, at most 255. With In, 0 is not allowed."),
  },
);
export interface PodFailurePolicyOnExitCodesRequirement extends Infer<typeof PodFailurePolicyOnExitCodesRequirement> {}

const PodFailurePolicyOnPodConditionsPattern = object(
  "PodFailurePolicyOnPodConditionsPattern",
  "A condition that a failed pod has.",
  {
    type: present(1, string(), "Type of the pod's condition."),
    status: stated(
      defaulted(2, unlisted(oneOf("False", "True", "Unknown")), "True", "Status that the pod's condition must have."),
      "",
    ),
  },
);
export interface PodFailurePolicyOnPodConditionsPattern extends Infer<typeof PodFailurePolicyOnPodConditionsPattern> {}

export const failureActions = ["Count", "FailIndex", "FailJob", "Ignore"] as const;
const PodFailurePolicyRule = object(
  "PodFailurePolicyRule",
  "What happens if a pod fails in a certain way. It has onExitCodes or onPodConditions, but not both.",
  {
    action: present(1, oneOf(...failureActions), "What happens if a pod matches: Count, FailIndex, FailJob or Ignore."),
    onExitCodes: nullable(2, PodFailurePolicyOnExitCodesRequirement, "Exit codes of the pods that match the rule."),
    onPodConditions: optional(
      3,
      atomicList(PodFailurePolicyOnPodConditionsPattern),
      "Conditions of the pods that match the rule; one of them is enough. At most 20.",
    ),
  },
);
export interface PodFailurePolicyRule extends Infer<typeof PodFailurePolicyRule> {}

export const PodFailurePolicy = object("PodFailurePolicy", "How a job treats the failures of its pods.", {
  rules: present(
    1,
    atomicList(PodFailurePolicyRule),
    "Rules for failed pods, at most 20. The first that matches counts.",
  ),
});
export interface PodFailurePolicy extends Infer<typeof PodFailurePolicy> {}

const SuccessPolicyRule = object("SuccessPolicyRule", "Which indexes must succeed for the whole job to succeed.", {
  succeededIndexes: nullable(1, string(), "Indexes that must succeed, as numbers and intervals: 1,3-5,7."),
  succeededCount: nullable(2, int32({ min: 0 }), "How many of succeededIndexes, or of all indexes, must succeed."),
});
export interface SuccessPolicyRule extends Infer<typeof SuccessPolicyRule> {}

export const SuccessPolicy = object("SuccessPolicy", "When an indexed job has succeeded before all its indexes have.", {
  rules: present(1, atomicList(SuccessPolicyRule), "Rules, at most 20. The job succeeds if one of them is met."),
});
export interface SuccessPolicy extends Infer<typeof SuccessPolicy> {}

const count = int32({ min: 0 });

/** Defaults are those of Job: a job template has none, because the job that is made of it gets them. */
export const JobSpec = object("JobSpec", "The pods that a job runs, and when it has succeeded or failed.", {
  parallelism: nullable(1, count, "Most pods that the job runs at a time."),
  completions: nullable(2, count, "Number of pods that must succeed; if absent, the success of one ends the job."),
  activeDeadlineSeconds: nullable(3, int64({ min: 0 }), "Seconds that the job may run before it fails."),
  podFailurePolicy: nullable(11, PodFailurePolicy, "How failures of pods are treated, beyond backoffLimit."),
  successPolicy: nullable(16, SuccessPolicy, "When an indexed job has succeeded; if absent, when all indexes have."),
  backoffLimit: nullable(7, count, "Number of failed pods after which the job has failed."),
  backoffLimitPerIndex: nullable(12, count, "Number of failed pods of one index after which that index has failed."),
  maxFailedIndexes: nullable(13, count, "Number of failed indexes that the job tolerates. Needs backoffLimitPerIndex."),
  selector: nullable(4, LabelSelector, "Selects the pods of the job. Set by the server unless manualSelector is true."),
  manualSelector: nullable(5, boolean(), "Whether the creator of the job has chosen its selector and pod labels."),
  template: present(6, PodTemplateSpec, "Template of the pods. Their restartPolicy must be Never or OnFailure."),
  ttlSecondsAfterFinished: nullable(8, count, "Seconds after which the finished job is deleted; never if absent."),
  completionMode: nullable(
    9,
    listedOneOf("NonIndexed", "Indexed"),
    "Whether all completions count the same (NonIndexed), or each pod has an index of its own (Indexed).",
  ),
  suspend: nullable(10, boolean(), "Whether the job runs no pods until this is false. Those that run are ended."),
  podReplacementPolicy: nullable(
    14,
    known("Failed", "TerminatingOrFailed"),
    "When a pod is replaced: as soon as it terminates (TerminatingOrFailed), or only when it has failed (Failed).",
  ),
  managedBy: nullable(15, string(), "Controller that manages the job, such as example.com/batch. Cannot be changed."),
});
export interface JobSpec extends Infer<typeof JobSpec> {}
