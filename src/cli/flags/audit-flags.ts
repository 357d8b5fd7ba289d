import path from "node:path";
import { type AuditOptions } from "#cluster/control-plane.ts";
import { durationSeconds, UserError, wholeNumber } from "../command.ts";

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
  "audit-log-batch-buffer-size": { ...text("N", "how many events may wait for the file"), default: "10000" },
  "audit-webhook-config-file": text("FILE", "post audit events to the server in this kubeconfig file"),
  "audit-webhook-mode": { ...text("MODE", "the same for this server"), default: "batch" },
  "audit-webhook-initial-backoff": { ...text("DURATION", "the pause before the second attempt"), default: "10s" },
  "audit-webhook-batch-buffer-size": { ...text("N", "how many events may wait for this server"), default: "10000" },
  "audit-webhook-batch-max-size": { ...text("N", "how many events are posted at once"), default: "400" },
  "audit-webhook-batch-max-wait": { ...text("DURATION", "how long an event waits for others"), default: "30s" },
} as const;

type Flag = keyof typeof auditFlags;
type OptionalFlag = "audit-policy-file" | "audit-log-path" | "audit-webhook-config-file";
export type AuditValues = { readonly [F in OptionalFlag]?: string | undefined } & {
  readonly [F in Exclude<Flag, OptionalFlag>]: string;
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
  const number = (flag: Exclude<Flag, OptionalFlag>, min = 0) =>
    wholeNumber(values[flag], flag, { min, max: 1_000_000 });
  return {
    path: file === "-" ? file : path.resolve(file),
    format: choice(values, "audit-log-format", formats),
    mode: choice(values, "audit-log-mode", modes),
    maxBytes: number("audit-log-maxsize") * 1024 * 1024,
    maxBackups: number("audit-log-maxbackup"),
    maxAgeMs: number("audit-log-maxage") * 86_400_000,
    bufferSize: number("audit-log-batch-buffer-size", 1),
  };
}

function webhookOf(values: AuditValues, file: string): NonNullable<AuditOptions["webhook"]> {
  const number = (flag: Exclude<Flag, OptionalFlag>) => wholeNumber(values[flag], flag, { min: 1, max: 1_000_000 });
  const millis = (flag: Exclude<Flag, OptionalFlag>) => durationSeconds(values[flag], flag) * 1000;
  return {
    file: path.resolve(file),
    mode: choice(values, "audit-webhook-mode", modes),
    initialBackoffMs: millis("audit-webhook-initial-backoff"),
    bufferSize: number("audit-webhook-batch-buffer-size"),
    maxBatchSize: number("audit-webhook-batch-max-size"),
    maxBatchWaitMs: millis("audit-webhook-batch-max-wait"),
  };
}

function choice<const V extends string>(
  values: AuditValues,
  flag: Exclude<Flag, OptionalFlag>,
  allowed: readonly V[],
): V {
  const found = allowed.find((each) => each === values[flag]);
  if (found) return found;
  throw new UserError(`--${flag} must be ${allowed.join(" or ")}, not ${JSON.stringify(values[flag])}`);
}
