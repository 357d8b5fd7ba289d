import { dropDisabledFields } from "#api/core/pod/pod-prepare.ts";
import { warnOfName } from "#api/core/pod/pod-template-rules.ts";
import { containerImages, containerNames } from "#api/core/pod-template.ts";
import { ObjectReference } from "#api/core/references.ts";
import { age } from "#api/meta/age.ts";
import { ageColumn, column, numberColumn, wide } from "#api/meta/columns.ts";
import { formatLabelSelector } from "#api/meta/label-selector.ts";
import { ObjectMeta } from "#api/meta/object-meta.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { defaulted, embedded, nullable, optional, present, required } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, int32, int64, listedOneOf, string, time } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";
import { parseCronSchedule } from "./cron-schedule.ts";
import { warnOfJobSpec } from "./job.ts";
import { JobSpec } from "./job-spec.ts";
import { validateTimeZone } from "./time-zone.ts";
import { validateJobSpec } from "./validate-job-spec.ts";

const object = inPackage("batch/v1");

const JobTemplateSpec = object("JobTemplateSpec", "Template of the jobs that a CronJob creates.", {
  metadata: embedded(1, ObjectMeta, "Metadata of the jobs, such as labels and annotations."),
  spec: embedded(2, JobSpec),
});
interface JobTemplateSpec extends Infer<typeof JobTemplateSpec> {}

const concurrencyPolicies = listedOneOf("Allow", "Forbid", "Replace");
const count = int32({ min: 0 });

const CronJobSpec = object("CronJobSpec", "When a CronJob creates jobs, and which.", {
  schedule: required(1, string(), "When jobs are created, in the format of cron: minute, hour, day, month, weekday."),
  timeZone: nullable(8, string(), "Time zone of the schedule, such as Europe/Rome; that of the controller if absent."),
  startingDeadlineSeconds: nullable(2, int64({ min: 0 }), "Seconds that a job may be late. Later it is not created."),
  concurrencyPolicy: defaulted(
    3,
    concurrencyPolicies,
    "Allow",
    "What happens if the previous job still runs: both run (Allow), the new one is skipped (Forbid) or replaces it (Replace).",
  ),
  suspend: defaulted(4, boolean(), false, "Whether the CronJob creates no more jobs. Those that run go on."),
  jobTemplate: present(5, JobTemplateSpec, "Template of the jobs that the CronJob creates."),
  successfulJobsHistoryLimit: defaulted(6, count, 3, "Number of successful jobs to keep."),
  failedJobsHistoryLimit: defaulted(7, count, 1, "Number of failed jobs to keep."),
});
interface CronJobSpec extends Infer<typeof CronJobSpec> {}

const CronJobStatus = object("CronJobStatus", "The observed state of a CronJob.", {
  active: optional(1, atomicList(ObjectReference), "Jobs that run at the moment."),
  lastScheduleTime: nullable(4, time(), "When a job was last created on schedule."),
  lastSuccessfulTime: nullable(5, time(), "When a job last succeeded."),
});

const fields = {
  spec: present(2, CronJobSpec, "When a CronJob creates jobs, and which."),
  status: embedded(3, CronJobStatus),
};
export interface CronJob extends NamespacedObject<typeof fields> {}

export const CronJob = defineResource("batch/v1.CronJob", fields, {
  doc: "Creates a job again and again, according to a schedule.",
  shortNames: ["cj"],
  categories: ["all"],
  hasGeneration: true,
  withStatus: () => ({}),
  columns: [
    column("Schedule", "When jobs are created, in the format of cron.", ({ spec }) => spec.schedule),
    column("Timezone", "Time zone of the schedule.", ({ spec }) => spec.timeZone ?? "<none>"),
    { ...column("Suspend", "Whether no jobs are created.", ({ spec }) => asText(spec.suspend)), type: "boolean" },
    numberColumn("Active", "Number of jobs that run.", ({ status }) => status.active?.length ?? 0),
    column("Last Schedule", "Time since a job was last created.", ({ status: { lastScheduleTime: last } }, now) =>
      last === undefined ? "<none>" : age(last, now),
    ),
    ageColumn,
    wide(column("Containers", "Names of the containers in the template.", ({ spec }) => containerNames(podOf(spec)))),
    wide(column("Images", "Images of the containers in the template.", ({ spec }) => containerImages(podOf(spec)))),
    wide(column("Selector", "Selects the pods.", ({ spec }) => selectorOf(spec) || "<none>")),
  ],

  prepareForCreate: ({ spec }) => dropDisabledFields(podOf(spec).spec, undefined),
  prepareForUpdate: ({ spec }, old) => dropDisabledFields(podOf(spec).spec, podOf(old.spec).spec),
  validate: (at) => validateJobTemplate(at.field("spec").field("jobTemplate")),
  validateCreate(at) {
    const { name = "" } = at.value.metadata;
    validateSchedule(at.field("spec"), undefined);
    at.field("spec").on("timeZone", validateTimeZone);
    if (name.length > maxNameLength)
      at.under("metadata", "name").as(name).invalid("must be no more than 52 characters");
  },
  validateUpdate(at, { spec: old }) {
    validateSchedule(at.field("spec"), old);
    if (at.value.spec.timeZone !== old.timeZone) at.field("spec").on("timeZone", validateTimeZone);
  },
  warnings(at, old) {
    warnOfName(at, old);
    const isNew = !old || at.value.metadata.generation !== old.metadata.generation;
    if (isNew) warnOfJobSpec(at.field("spec").field("jobTemplate").field("spec"));
    if (old && at.value.spec.schedule.includes("TZ")) at.note(zoneWarning);
  },
});

/** The names of jobs are eleven characters longer, and have to be good for labels. */
const maxNameLength = 63 - 11;
/** A schedule that names every minute, hour and day is a tenth of this. */
const maxScheduleLength = 8192;
const zoneWarning =
  "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details";

const podOf = ({ jobTemplate }: CronJobSpec) => jobTemplate.spec.template;
const selectorOf = ({ jobTemplate }: CronJobSpec): string => formatLabelSelector(jobTemplate.spec.selector);
const asText = (value: boolean): string => (value ? "True" : "False");

/** A time zone in the schedule is allowed only where there was one before the field for it. */
function validateSchedule(spec: Cursor<CronJobSpec>, old: CronJobSpec | undefined): void {
  const at = spec.set("schedule");
  if (!at) return;
  if (at.value.length > maxScheduleLength) {
    at.tooLong(maxScheduleLength);
    return;
  }
  const fault = scheduleFault(at.value);
  if (fault !== undefined) at.invalid(fault);
  if (!at.value.includes("TZ")) return;
  if (!old?.schedule.includes("TZ")) at.invalid("cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
  else if (spec.value.timeZone !== undefined) {
    at.invalid("cannot use both timeZone field and TZ or CRON_TZ in schedule");
  }
}

function scheduleFault(schedule: string): string | undefined {
  try {
    parseCronSchedule(schedule);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Every job gets a selector of its own, so its template has none. */
function validateJobTemplate(template: Cursor<JobTemplateSpec>): void {
  const at = template.field("spec");
  validateJobSpec(at);
  at.on("selector", (at) => at.invalid("`selector` will be auto-generated"));
  at.set("manualSelector")?.unsupported(["nil", "false"]);
}
