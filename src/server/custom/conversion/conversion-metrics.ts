import { type Metrics } from "#lib/process/metrics.ts";
import { type FaultType } from "./conversion-fault.ts";

/** How often objects were converted by webhooks, how long it took, and what went wrong. */
export interface ConversionMetrics {
  called(call: { readonly seconds: number; readonly fault: FaultType | undefined }): void;
  converted(conversion: Converted): void;
}
interface Converted {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly succeeded: boolean;
  readonly seconds: number;
}

const callBuckets = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60];
const buckets = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);

export function conversionMetrics(metrics: Metrics): ConversionMetrics {
  const labels = ["result", "failure_type"];
  const total = metrics.counter("apiserver_conversion_webhook_request_total", "Calls of conversion webhooks.", labels);
  const latency = metrics.histogram(
    "apiserver_conversion_webhook_duration_seconds",
    "How long calls of conversion webhooks took.",
    { labels, buckets: callBuckets },
  );
  const duration = metrics.histogram(
    "apiserver_crd_conversion_webhook_duration_seconds",
    "How long the webhook of a definition took to convert objects from one version to another.",
    { labels: ["crd_name", "from_version", "to_version", "succeeded"], buckets },
  );
  return {
    called({ seconds, fault }) {
      const values = fault ? ["failure", fault] : ["success", ""];
      total.add(values);
      latency.observe(values, seconds);
    },
    converted: ({ name, from, to, succeeded, seconds }) =>
      duration.observe([name, from, to, String(succeeded)], seconds),
  };
}
