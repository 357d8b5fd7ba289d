import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import { type Log } from "#lib/process/log.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import { parseConfig, readConfigFile } from "../config/config-file.ts";
import { Auditor, type ServerAudit } from "./auditor.ts";
import type { AuditBackend } from "./backend.ts";
import { BatchedBackend, type BatchOptions } from "./batches.ts";
import { type AuditLogOptions, openAuditLog } from "./log-writer.ts";
import { auditPolicy, scopesOf } from "./policy.ts";
import { type AuditWebhookOptions, openAuditWebhook } from "./webhook-writer.ts";

/** What is recorded, and where. */
export interface AuditOptions {
  readonly policyFile: string;
  readonly log?: AuditLogOptions & BatchOptions;
  readonly webhook?: AuditWebhookOptions & BatchOptions;
}

export interface OpenAuditDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
}

/** Throws ConfigFileError or KubeconfigError if a file cannot be used. */
export async function openAudit(
  options: AuditOptions,
  { clock, log, random }: OpenAuditDeps,
): Promise<(metrics: Metrics) => ServerAudit> {
  const text = await readConfigFile(options.policyFile, "audit-policy-file");
  const policy = await parseConfig(auditPolicy, text, options.policyFile);
  const file = options.log && (await openAuditLog(options.log, clock));
  const hook = options.webhook && (await openAuditWebhook(options.webhook, { clock, random }));
  return (metrics) => {
    const help = "Audit events that were lost, by the part that lost them.";
    const errors = metrics.counter("apiserver_audit_error_total", help, ["plugin"]);
    const lost = (plugin: string, events: number) => errors.add([plugin], events);
    const backends: AuditBackend[] = [];
    const deps = { clock, log, lost };
    if (options.log && file) {
      backends.push(new BatchedBackend(options.log, { ...deps, name: "log", writer: file }));
    }
    if (options.webhook && hook) {
      backends.push(new BatchedBackend(options.webhook, { ...deps, name: "webhook", writer: hook }));
    }
    return new Auditor({ scopeOf: scopesOf(policy), backends, clock, metrics });
  };
}
