import path from "node:path";
import { type AuditOptions } from "#cluster/control-plane.ts";
import { durationMilliseconds, durationSeconds, trueOrFalse, UserError, wholeNumber } from "../command.ts";

type BatchOptions = Omit<NonNullable<AuditOptions["webhook"]>, "file" | "initialBackoffMs">;

const modes = ["batch", "blocking", "blocking-strict"] as const;
const formats = ["json", "legacy"] as const;
const text = (value: string, help: string) => ({ type: "string", value, help }) as const;

/** What is recorded about requests, for the commands that start a server. */
export const auditFlags = {
  "audit-policy-file": text("FILE", "an audit Policy: which requests are recorded, and how much of them"),
  "audit-log-path": text("FILE", "write audit events to FILE, or to standard output for -"),
  "audit-log-format": { ...text("FORMAT", "json or legacy"), default: "json" },
  "audit-log-maxsize": { ...text("N", "rotate the file at N megabytes; 0: never"), default: "100" },
  "audit-log-maxbackup": { ...text("N", "keep N rotated files; 0: all"), default: "100" },
  "audit-log-maxage": { ...text("DAYS", "keep rotated files for DAYS; 0: for ever"), default: "366" },
  "audit-log-mode": {
    ...text(
      "MODE",
      "batch: requests do not wait for the file; blocking: they do; blocking-strict: they fail if it does",
    ),
    default: "blocking",
  },
  "audit-log-compress": { ...text("BOOL", "compress rotated files with gzip"), default: "false" },
  ...batchFlags("log", { size: "1000", wait: "0s", throttle: "false" }),
  "audit-webhook-config-file": text("FILE", "post audit events to the server in this kubeconfig file"),
  "audit-webhook-mode": { ...text("MODE", "the same for this server"), default: "batch" },
  "audit-webhook-initial-backoff": { ...text("DURATION", "the pause before the second attempt"), default: "10s" },
  ...batchFlags("webhook", { size: "400", wait: "30s", throttle: "true" }),
} as const;

/** What the file and the webhook have in common. */
function batchFlags<const T extends "log" | "webhook">(target: T, defaults: BatchDefaults) {
  const whom = target === "log" ? "the file" : "this server";
  const flag = (value: string, help: string, ofDefault: string) => ({ ...text(value, help), default: ofDefault });
  const flags = {
    "batch-buffer-size": flag("N", `how many events may wait for ${whom}`, "10000"),
    "batch-max-size": flag("N", "how many events are written at once", defaults.size),
    "batch-max-wait": flag("DURATION", "how long an event waits for others", defaults.wait),
    "batch-throttle-enable": flag("BOOL", "limit how often batches are written in mode batch", defaults.throttle),
    "batch-throttle-qps": flag("N", "how many batches are written in a second", "10"),
    "batch-throttle-burst": flag("N", "how many batches are written at once after a pause", "15"),
    "truncate-enabled": flag("BOOL", "limit the size of events and batches", "false"),
    "truncate-max-event-size": flag("BYTES", "an event over BYTES loses its bodies", "102400"),
    "truncate-max-batch-size": flag("BYTES", "how many bytes are written at once", "10485760"),
  };
  const named = Object.entries(flags).map(([name, one]) => [`audit-${target}-${name}`, one]);
  return Object.fromEntries(named) as Record<`audit-${T}-${keyof typeof flags}`, ReturnType<typeof flag>>;
}
interface BatchDefaults {
  readonly size: string;
  readonly wait: string;
  readonly throttle: "true" | "false";
}

type Flag = keyof typeof auditFlags;
type OptionalFlag = "audit-policy-file" | "audit-log-path" | "audit-webhook-config-file";
type RequiredFlag = Exclude<Flag, OptionalFlag>;
export type AuditValues = { readonly [F in OptionalFlag]?: string | undefined } & {
  readonly [F in RequiredFlag]: string;
};

export function auditOf(values: AuditValues): AuditOptions | undefined {
  const policyFile = values["audit-policy-file"];
  const log = values["audit-log-path"];
  const webhook = values["audit-webhook-config-file"];
  if (!policyFile) {
    if (!log && !webhook) return undefined;
    const flag = log ? "audit-log-path" : "audit-webhook-config-file";
    throw new UserError(`--${flag} records nothing without a policy: add --audit-policy-file FILE`);
  }
  if (!log && !webhook) {
    throw new UserError("--audit-policy-file needs a place for the events: add --audit-log-path FILE");
  }
  return {
    policyFile: path.resolve(policyFile),
    ...(log ? { log: logOf(values, log) } : {}),
    ...(webhook ? { webhook: webhookOf(values, webhook) } : {}),
  };
}

function logOf(values: AuditValues, file: string): NonNullable<AuditOptions["log"]> {
  const number = (flag: RequiredFlag) => wholeNumber(values[flag], flag, { min: 0, max: 1_000_000 });
  return {
    path: file === "-" ? file : path.resolve(file),
    format: choice(values, "audit-log-format", formats),
    maxBytes: number("audit-log-maxsize") * 1024 * 1024,
    maxBackups: number("audit-log-maxbackup"),
    maxAgeMs: number("audit-log-maxage") * 86_400_000,
    compress: isTrue(values, "audit-log-compress"),
    ...batchOf(values, "log"),
  };
}

function webhookOf(values: AuditValues, file: string): NonNullable<AuditOptions["webhook"]> {
  const backoff = "audit-webhook-initial-backoff";
  return {
    file: path.resolve(file),
    initialBackoffMs: durationSeconds(values[backoff], backoff) * 1000,
    ...batchOf(values, "webhook"),
  };
}

function batchOf(values: AuditValues, target: "log" | "webhook"): BatchOptions {
  const number = (flag: RequiredFlag, min = 1, max = 1_000_000) => wholeNumber(values[flag], flag, { min, max });
  const bytes = (flag: RequiredFlag) => number(flag, 1024, 2 ** 30);
  const wait = `audit-${target}-batch-max-wait` as const;
  return {
    mode: choice(values, `audit-${target}-mode`, modes),
    bufferSize: number(`audit-${target}-batch-buffer-size`),
    maxBatchSize: number(`audit-${target}-batch-max-size`),
    maxBatchWaitMs: durationMilliseconds(values[wait], wait),
    throttle: isTrue(values, `audit-${target}-batch-throttle-enable`)
      ? {
          perSecond: number(`audit-${target}-batch-throttle-qps`),
          burst: number(`audit-${target}-batch-throttle-burst`),
        }
      : undefined,
    truncate: isTrue(values, `audit-${target}-truncate-enabled`)
      ? {
          maxEventBytes: bytes(`audit-${target}-truncate-max-event-size`),
          maxBatchBytes: bytes(`audit-${target}-truncate-max-batch-size`),
        }
      : undefined,
  };
}

const isTrue = (values: AuditValues, flag: RequiredFlag): boolean => trueOrFalse(values[flag], flag) === true;

function choice<const V extends string>(values: AuditValues, flag: RequiredFlag, allowed: readonly V[]): V {
  const found = allowed.find((each) => each === values[flag]);
  if (found) return found;
  throw new UserError(`--${flag} must be ${allowed.join(" or ")}, not ${JSON.stringify(values[flag])}`);
}
