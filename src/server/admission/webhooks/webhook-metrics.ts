import { type Metrics } from "#lib/process/metrics.ts";

interface About {
  readonly name: string;
  /** As upstream calls them: `admit` for those that change objects, and `validating`. */
  readonly type: "admit" | "validating";
}

/** As upstream calls what refused a request: the webhook itself, a failed call, or a patch that does not fit. */
export type RejectionType = "no_error" | "calling_webhook_error" | "apiserver_internal_error";

/** How often webhooks were called, how long it took, and what came of it. The names are those of administrators. */
export interface WebhookMetrics {
  called(call: About & { operation: string; code: number; refused: boolean; seconds: number }): void;
  refused(call: About & { operation: string; why: RejectionType; code: number }): void;
  ignored(call: About): void;
}

const prefix = "apiserver_admission_webhook";
const buckets = [0.005, 0.025, 0.1, 0.5, 1.0, 10, 30];

export function webhookMetrics(metrics: Metrics): WebhookMetrics {
  const duration = metrics.histogram(`${prefix}_admission_duration_seconds`, "How long calls of webhooks took.", {
    labels: ["name", "type", "operation", "rejected"],
    buckets,
  });
  const total = metrics.counter(`${prefix}_request_total`, "Calls of webhooks.", [
    ...["name", "type", "operation", "code", "rejected"],
  ]);
  const rejections = metrics.counter(`${prefix}_rejection_count`, "Requests that webhooks refused.", [
    ...["name", "type", "operation", "error_type", "rejection_code"],
  ]);
  const open = metrics.counter(`${prefix}_fail_open_count`, "Failures of webhooks that were ignored.", [
    "name",
    "type",
  ]);
  return {
    called({ name, type, operation, code, refused, seconds }) {
      duration.observe([name, type, operation, String(refused)], seconds);
      total.add([name, type, operation, String(code), String(refused)]);
    },
    refused({ name, type, operation, why, code }) {
      rejections.add([name, type, operation, why, String(code)]);
    },
    ignored: ({ name, type }) => open.add([name, type]),
  };
}
