import { type Pod } from "#api/core/pod.ts";
import { type Chain, runChain } from "#lib/async/chain.ts";
import { type SchedulerPlugin } from "./framework.ts";

interface Binding {
  readonly pod: Pod;
  readonly node: string;
  readonly signal: AbortSignal;
  /** Lets others bind while this pod waits. */
  aside(wait: (signal: AbortSignal) => Promise<void>): Promise<void>;
}
type Phase = Chain<SchedulerPlugin, Binding, true>;

/** The phases between the decision and the binding, in order. The first plugin that binds ends the phase. */
const phases: readonly Phase[] = [
  { what: "Reserve plugin", ask: (plugin, { pod, node }) => plugin.reserve?.(pod, node) },
  { what: "Permit plugin", ask: (plugin, { pod, node, signal }) => plugin.permit?.(pod, node, signal) },
  { what: "PreBind plugin", ask: (plugin, { pod, node, signal }) => plugin.preBind?.(pod, node, signal) },
  { what: "PreBind plugin", ask: waitUntilReady },
  { what: "Bind plugin", ask: (plugin, { pod, node, signal }) => plugin.bind?.(pod, node, signal) },
];

function waitUntilReady(plugin: SchedulerPlugin, { pod, node, aside }: Binding): Promise<void> | undefined {
  const wait = plugin.untilReady?.(pod, node);
  return wait && aside(wait);
}

/** Runs the phases. Returns the error, if any, after undoing reservations. */
export async function bindPod(plugins: readonly SchedulerPlugin[], binding: Binding): Promise<Error | undefined> {
  const { pod, node } = binding;
  try {
    for (const phase of phases) await runChain(phase, plugins, binding);
  } catch (error) {
    for (const plugin of plugins.toReversed()) await plugin.unreserve?.(pod, node);
    return error as Error;
  }
  for (const plugin of plugins) plugin.postBind?.(pod, node);
  return undefined;
}
