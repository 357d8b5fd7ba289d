/** Names of finalizers, annotations and variables that pods of jobs have. */

export const jobTrackingFinalizer = "batch.kubernetes.io/job-tracking";
/** The pod's index in an indexed job; an annotation and a label. */
export const completionIndexAnnotation = "batch.kubernetes.io/job-completion-index";
/** How many pods of the index have failed, counted towards `backoffLimitPerIndex` or ignored by policy. */
export const indexFailureCountAnnotation = "batch.kubernetes.io/job-index-failure-count";
export const indexIgnoredFailureCountAnnotation = "batch.kubernetes.io/job-index-ignored-failure-count";
/** The value of `managedBy` for jobs of this controller. */
export const jobControllerName = "kubernetes.io/job-controller";
/** On the job of a CronJob: when it was due, in the CronJob's time zone. */
export const scheduledAtAnnotation = "batch.kubernetes.io/cronjob-scheduled-timestamp";
