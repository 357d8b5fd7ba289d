import { CronJob } from "#api/batch/cron-job.ts";
import { type Job } from "#api/batch/job.ts";
import { scheduledAtAnnotation } from "#api/batch/well-known.ts";
import { ownerRefTo } from "#api/meta/owner.ts";
import { type InputOf } from "#api/resource.ts";

/** The job for one moment of the schedule. Its name comes from that moment, so there is only one. */
export function jobOf(
  cronJob: CronJob,
  dueMs: number,
): InputOf<Job> & { metadata: { namespace: string; name: string } } {
  const { metadata, spec } = cronJob.spec.jobTemplate;
  const { namespace, name } = cronJob.metadata;
  return {
    metadata: {
      namespace,
      name: `${name}-${Math.floor(dueMs / 60_000)}`,
      ...(metadata.labels ? { labels: metadata.labels } : {}),
      annotations: { ...metadata.annotations, [scheduledAtAnnotation]: localTime(dueMs, cronJob.spec.timeZone) },
      ownerReferences: [ownerRefTo(CronJob, cronJob)],
    },
    spec,
  };
}

/** As `2026-01-01T08:00:00+01:00`, or with `Z` in UTC. */
function localTime(atMs: number, timeZone = "UTC"): string {
  const at = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timeZone);
  const text = at.toString({ timeZoneName: "never", smallestUnit: "second" });
  return text.replace(/\+00:00$/, "Z");
}
