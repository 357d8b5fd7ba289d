import { type Pod } from "#api/core/pod.ts";
import { type Chain, runChain } from "#lib/async/chain.ts";
import { type Log } from "#lib/process/log.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { keyOf } from "../pod-key.ts";
import { NotPermitted, type WaitingPods } from "./waiting-pods.ts";

export interface Binding {
  readonly pod: Pod;
  readonly node: string;
  readonly signal: AbortSignal;
  readonly waiting: WaitingPods;
  /** Lets others bind while this pod waits. */
  aside(wait: (signal: AbortSignal) => Promise<void>): Promise<void>;
  readonly log: Log;
}
type Phase = Chain<SchedulerPlugin, Binding, true>;

const reserve: Phase = { what: "Reserve plugin", ask: (plugin, { pod, node }) => plugin.reserve?.(pod, node) };

/** The phases between the permission and the binding, in order. The first plugin that binds ends the phase. */
const phases: readonly Phase[] = [
  { what: "PreBind plugin", ask: (plugin, { pod, node, signal }) => plugin.preBind?.(pod, node, signal) },
  { what: "PreBind plugin", ask: waitUntilReady },
  { what: "Bind plugin", ask: (plugin, { pod, node, signal }) => plugin.bind?.(pod, node, signal) },
];

function waitUntilReady(plugin: SchedulerPlugin, { pod, node, aside }: Binding): Promise<void> | undefined {
  const wait = plugin.untilReady?.(pod, node);
  return wait && aside(wait);
}

/** Asks every plugin, then waits for those that want to wait. */
function permit(plugins: readonly SchedulerPlugin[], binding: Binding): Promise<void> | undefined {
  const { pod, node, waiting, aside } = binding;
  const waits = new Map<string, number>();
  const ask: Phase = {
    what: "Permit plugin",
    ask(plugin) {
      const answer = plugin.permit?.(pod, node, waiting);
      if (answer && "reasons" in answer) throw new NotPermitted(plugin.name, answer.reasons.join(", "));
      if (answer) waits.set(plugin.name, answer.waitMs);
      return undefined;
    },
    meaning: (error) => (error instanceof NotPermitted ? "refusal" : "fault"),
  };
  // No plugin can wait while it answers.
  void runChain(ask, plugins, binding);
  return waits.size > 0 ? aside((signal) => waiting.wait(pod, node, waits, signal)) : undefined;
}

/** Runs the phases. Returns the error, if any, after undoing reservations. */
export async function bindPod(plugins: readonly SchedulerPlugin[], binding: Binding): Promise<Error | undefined> {
  const { pod, node, waiting } = binding;
  try {
    await runChain(reserve, plugins, binding);
    await permit(plugins, binding);
    for (const phase of phases) await runChain(phase, plugins, binding);
  } catch (error) {
    await tellAll(plugins.toReversed(), binding, (plugin) => plugin.unreserve?.(pod, node, waiting));
    return error as Error;
  }
  await tellAll(plugins, binding, (plugin) => plugin.postBind?.(pod, node));
  return undefined;
}

/** One plugin's error must not keep the news from the others. */
async function tellAll(
  plugins: readonly SchedulerPlugin[],
  { pod, log }: Binding,
  tell: (plugin: SchedulerPlugin) => Promise<void> | undefined | void,
): Promise<void> {
  for (const plugin of plugins) {
    try {
      const telling = tell(plugin);
      if (telling) await telling;
    } catch (error) {
      log.error("a plugin failed after the decision", { pod: keyOf(pod), plugin: plugin.name, error });
    }
  }
}
