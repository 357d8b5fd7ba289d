import { type Clock } from "#lib/async/clock.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { checkAnswer, checkScores } from "./answers.ts";
import { TookTooLong, withinTime } from "./time-limit.ts";

/** What runs for each pod and node must not hold up other pods. */
const maxCallMs = 50;
/** A plugin that loops is left alone for a while: twice as long each time. */
const firstPauseMs = 10_000;
const maxPauseMs = 300_000;

/** A plugin failed. The message names it and its hook. */
export class PluginError extends Error {
  override readonly name = "PluginError";
}

type Hook = (...args: unknown[]) => unknown;

/** What a plugin can have. */
export const hooks = [
  "follow",
  "preEnqueue",
  "groupOf",
  "observe",
  "queueSort",
  "prepare",
  "looksAt",
  "basis",
  "candidates",
  "preFilter",
  "filter",
  "preScore",
  "score",
  "normalize",
  "acrossNodes",
  "postFilter",
  "reserve",
  "unreserve",
  "permit",
  "preBind",
  "untilReady",
  "bind",
  "postBind",
] as const satisfies readonly (keyof SchedulerPlugin)[];

/**
 * A user's plugin, made harmless: an error names the plugin, a call that does not return is stopped, and after that the
 * plugin is not called for a while. Whatever fails, only pods of profiles with this plugin have to wait.
 */
export function guard(name: string, plugin: SchedulerPlugin, clock: Pick<Clock, "now">): SchedulerPlugin {
  const breaker = new Breaker(clock);
  const guarded: Record<string, unknown> = { name };
  const given = plugin as unknown as Record<string, unknown>;
  const protect = (hook: string, owner: object, call: Hook): Hook => {
    return (...args) => breaker.run(`running ${hook} of plugin ${JSON.stringify(name)}`, () => call.apply(owner, args));
  };
  for (const hook of hooks) {
    if (typeof given[hook] === "function") guarded[hook] = protect(hook, plugin, checked(plugin, hook));
  }
  if (plugin.weight !== undefined) guarded.weight = plugin.weight;
  if (plugin.retryOn) guarded.retryOn = guardHints(plugin.retryOn, protect);
  return guarded as unknown as SchedulerPlugin;
}

/** The hook, which fails if its answer is none that the scheduler can use. */
function checked(plugin: SchedulerPlugin, hook: keyof SchedulerPlugin): Hook {
  const call = plugin[hook] as unknown as Hook;
  const isScaled = plugin.normalize !== undefined;
  return (...args) => {
    const answer = call.apply(plugin, args);
    checkAnswer(hook, answer, { isScaled });
    if (hook === "normalize") checkScores(args[0] as Float64Array);
    return answer;
  };
}

/** A hint that fails is no hint: the pod is tried again. */
function guardHints(
  hints: NonNullable<SchedulerPlugin["retryOn"]>,
  protect: (hook: string, owner: object, call: Hook) => Hook,
): NonNullable<SchedulerPlugin["retryOn"]> {
  const careful = (owner: object, call: unknown, name: string) => {
    const run = protect(`retryOn.${name}`, owner, call as Hook);
    return (...args: unknown[]): boolean => {
      try {
        return run(...args) === true;
      } catch {
        return true;
      }
    };
  };
  const { node, pod, otherPod, objects } = hints;
  return {
    ...(node ? { node: careful(hints, node, "node") } : {}),
    ...(pod ? { pod: careful(hints, pod, "pod") } : {}),
    ...(otherPod ? { otherPod: careful(hints, otherPod, "otherPod") } : {}),
    ...(objects ? { objects: objects.map((one) => ({ ...one, mayHelp: careful(one, one.mayHelp, "objects") })) } : {}),
  };
}

class Breaker {
  readonly #clock: Pick<Clock, "now">;
  #openUntil = 0;
  #pauseMs = firstPauseMs;
  #why = "";

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  run<T>(what: string, call: () => T): T {
    if (this.#clock.now() < this.#openUntil) {
      // The text is the same each time, so that the status of a pod does not change with every attempt.
      throw new PluginError(`${this.#why}: it is not called for a while`);
    }
    try {
      return withinTime(maxCallMs, call);
    } catch (error) {
      if (error instanceof PluginError) throw error;
      const message = `${what}: ${messageOf(error)}`;
      if (error instanceof TookTooLong) this.#open(message);
      throw new PluginError(message, { cause: error });
    }
  }

  #open(why: string): void {
    this.#why = why;
    this.#openUntil = this.#clock.now() + this.#pauseMs;
    this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs);
  }
}
