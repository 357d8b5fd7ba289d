import { type Waits } from "#lib/async/chain.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Metrics } from "#lib/process/metrics.ts";

/** Measures how long requests waited for plugins of a chain that could not answer synchronously. */
export function pluginWaits(
  { metrics, clock }: { readonly metrics: Metrics; readonly clock: Clock },
  chain: "authentication" | "authorization" | "admission",
): Waits {
  const help = "How long requests waited for a plugin that did not answer immediately.";
  const histogram = metrics.histogram("orlop_plugin_wait_seconds", help, {
    labels: ["chain", "plugin"],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 10],
  });
  return {
    now: () => clock.now(),
    waited: (plugin, ms) => histogram.observe([chain, plugin], ms / 1000),
  };
}
