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
  /** `note` tells others which node the pod will get, if that takes a while. It never rejects. */
  readonly expectation?: { note(): Promise<void> };
  readonly log: Log;
}

interface Phase extends Chain<SchedulerPlugin, Binding, true> {
  /** Plugins without it are not asked. */
  readonly hook: Hook;
}

const hooks = ["reserve", "permit", "preBind", "untilReady", "bind", "postBind"] as const;
type Hook = (typeof hooks)[number];

/** The plugins of a profile by the hooks that they have. Most have none of these. */
const byHook = new WeakMap<readonly SchedulerPlugin[], Record<Hook, readonly SchedulerPlugin[]>>();

function having(plugins: readonly SchedulerPlugin[], hook: Hook): readonly SchedulerPlugin[] {
  let found = byHook.get(plugins);
  if (!found) {
    const lists = hooks.map((name) => [name, plugins.filter((plugin) => plugin[name])]);
    found = Object.fromEntries(lists) as Record<Hook, readonly SchedulerPlugin[]>;
    byHook.set(plugins, found);
  }
  return found[hook];
}

const run = (phase: Phase, plugins: readonly SchedulerPlugin[], binding: Binding) =>
  runChain(phase, having(plugins, phase.hook), binding);

const reserve: Phase = {
  what: "Reserve plugin",
  hook: "reserve",
  ask: (plugin, { pod, node }) => plugin.reserve?.(pod, node),
};

/** The phases between the permission and the binding, in order. The first plugin that binds ends the phase. */
const phases: readonly Phase[] = [
  {
    what: "PreBind plugin",
    hook: "preBind",
    ask: (plugin, { pod, node, signal }) => plugin.preBind?.(pod, node, signal),
  },
  { what: "PreBind plugin", hook: "untilReady", ask: waitUntilReady },
  { what: "Bind plugin", hook: "bind", ask: (plugin, { pod, node, signal }) => plugin.bind?.(pod, node, signal) },
];

function waitUntilReady(plugin: SchedulerPlugin, { pod, node, aside }: Binding): Promise<void> | undefined {
  const wait = plugin.untilReady?.(pod, node);
  return wait && aside(wait);
}

/** Asks every plugin, then waits for those that want to wait. */
function permit(plugins: readonly SchedulerPlugin[], binding: Binding): Promise<void> | undefined {
  const { pod, node, waiting, aside } = binding;
  if (having(plugins, "permit").length === 0) return undefined;
  const waits = new Map<string, number>();
  const ask: Phase = {
    what: "Permit plugin",
    hook: "permit",
    ask(plugin) {
      const answer = plugin.permit?.(pod, node, waiting);
      if (answer && "reasons" in answer) throw new NotPermitted(plugin.name, answer.reasons.join(", "));
      if (answer) waits.set(plugin.name, answer.waitMs);
      return undefined;
    },
    meaning: (error) => (error instanceof NotPermitted ? "refusal" : "fault"),
  };
  // No plugin can wait while it answers.
  void run(ask, plugins, binding);
  return waits.size > 0 ? aside((signal) => waiting.wait(pod, node, waits, signal)) : undefined;
}

/** Runs the phases. Returns the error, if any, after undoing reservations. */
export async function bindPod(plugins: readonly SchedulerPlugin[], binding: Binding): Promise<Error | undefined> {
  const { pod, node, waiting } = binding;
  try {
    // Usually only the binding has to wait.
    const reserved = run(reserve, plugins, binding);
    if (reserved) await reserved;
    const permitted = permit(plugins, binding);
    if (permitted) await besideNomination(binding, permitted);
    for (const phase of phases) {
      const done = run(phase, plugins, binding);
      if (done instanceof Promise && phase.hook !== "bind") await besideNomination(binding, done);
      else if (done) await done;
    }
  } catch (error) {
    await tellAll(plugins.toReversed(), binding, (plugin) => plugin.unreserve?.(pod, node, waiting));
    return error as Error;
  }
  await tellAll(having(plugins, "postBind"), binding, (plugin) => plugin.postBind?.(pod, node));
  return undefined;
}

/** As upstream: a pod that waits for a permission or for its volumes and devices says on which node. */
async function besideNomination(binding: Binding, work: Promise<unknown>): Promise<void> {
  await Promise.all([work, binding.expectation?.note()]);
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
