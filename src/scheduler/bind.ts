import { type Pod } from "#api/core/pod.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type SchedulerPlugin } from "./framework.ts";

interface Binding {
  readonly pod: Pod;
  readonly node: string;
  readonly signal: AbortSignal;
}

/** Runs all that stands between the decision and the pod's having its node. What went wrong, after taking back what was claimed. */
export async function bindPod(plugins: readonly SchedulerPlugin[], binding: Binding): Promise<Error | undefined> {
  const { pod, node, signal } = binding;
  let at = "";
  const running = (hook: string, { name }: SchedulerPlugin): void => {
    at = `${hook} plugin "${name}"`;
  };
  try {
    for (const plugin of plugins) {
      if (!plugin.reserve) continue;
      running("Reserve", plugin);
      plugin.reserve(pod, node);
    }
    for (const plugin of plugins) {
      if (!plugin.permit) continue;
      running("Permit", plugin);
      await plugin.permit(pod, node, signal);
    }
    for (const plugin of plugins) {
      if (!plugin.preBind) continue;
      running("PreBind", plugin);
      await plugin.preBind(pod, node, signal);
    }
    for (const plugin of plugins) {
      if (!plugin.bind) continue;
      running("Bind", plugin);
      if (await plugin.bind(pod, node, signal)) break;
    }
  } catch (error) {
    for (const plugin of plugins.toReversed()) plugin.unreserve?.(pod, node);
    return new Error(`running ${at}: ${messageOf(error)}`, { cause: error });
  }
  for (const plugin of plugins) plugin.postBind?.(pod, node);
  return undefined;
}
