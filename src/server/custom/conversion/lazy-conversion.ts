import { type CustomResourceDefinition } from "#api/apiextensions/definition-fields.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import type { ResolveService } from "#server/extension/connections.ts";
import { type OpenConversion } from "../custom-kinds.ts";
import type { ConversionHook, WebhookConverter } from "./webhook-converter.ts";

export interface ConversionDeps {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly resolveService: ResolveService;
  /** The server ends. */
  readonly ended: AbortSignal;
}

/** The conversion of a definition by its webhook; undefined if it has none. What calls it is loaded with the first call. */
export function lazyConversion(
  deps: ConversionDeps,
  { metadata, spec }: CustomResourceDefinition,
): OpenConversion | undefined {
  const { conversion, group, versions } = spec;
  const { clientConfig, conversionReviewVersions = [] } = conversion?.webhook ?? {};
  if (conversion?.strategy !== "Webhook" || !clientConfig) return undefined;
  const apiVersions = new Set(versions.map(({ name }) => `${group}/${name}`));
  const hook: ConversionHook = { name: metadata.name, clientConfig, conversionReviewVersions, apiVersions };
  let opened: Promise<Opened> | undefined;
  return {
    async convert(objects, apiVersion) {
      opened ??= open(deps, hook);
      return (await opened).converter.convert(objects, apiVersion);
    },
    [Symbol.dispose]() {
      void opened?.then(({ retire }) => retire());
    },
  };
}

interface Opened {
  readonly converter: WebhookConverter;
  /** Calls that are running may end. */
  retire(): void;
}

async function open({ clock, metrics, resolveService, ended }: ConversionDeps, hook: ConversionHook): Promise<Opened> {
  const [{ WebhookConverter }, { WebhookConnections }, { conversionMetrics }] = await Promise.all([
    import("./webhook-converter.ts"),
    import("#server/webhook/target.ts"),
    import("./conversion-metrics.ts"),
  ]);
  const connections = new WebhookConnections();
  const world = { clock, connections, resolveService, metrics: conversionMetrics(metrics), signal: ended };
  return { converter: new WebhookConverter(world, hook), retire: () => connections.retire(hook) };
}
