import { type SchedulerPlugin } from "#scheduler/framework.ts";
import { type ExtensionPoint } from "./configuration.ts";

/** A plugin at one point or at all of them. */
export interface Chosen {
  readonly plugin: SchedulerPlugin;
  readonly weight: number;
}

/** Which plugins run at each extension point, in order. */
export type Points = ReadonlyMap<ExtensionPoint, readonly Chosen[]>;

type Hook = Exclude<keyof SchedulerPlugin, "name" | "weight" | "retryOn">;

/** The hooks of one plugin that belong to each extension point. */
const hooksAt: Readonly<Record<ExtensionPoint, readonly Hook[]>> = {
  preEnqueue: ["preEnqueue"],
  queueSort: ["queueSort"],
  preFilter: ["candidates", "preFilter", "acrossNodes"],
  filter: ["filter", "acrossNodes"],
  postFilter: ["postFilter"],
  preScore: ["preScore", "acrossNodes"],
  score: ["score", "acrossNodes"],
  reserve: ["reserve", "unreserve"],
  permit: ["permit"],
  preBind: ["preBind", "untilReady"],
  bind: ["bind"],
  postBind: ["postBind"],
};

export const extendsPoint = (plugin: SchedulerPlugin, point: ExtensionPoint): boolean =>
  hooksAt[point].some((hook) => plugin[hook]);

/** The plugin at all its points. */
export const wholeOf = ({ plugin, weight }: Chosen): SchedulerPlugin =>
  weight === (plugin.weight ?? 1) ? plugin : { ...plugin, weight };

/**
 * The plugins cut into parts, one for each stage, because each stage may have an order of its own. A filter that needs
 * what `preFilter` computes runs only with it, and a score only with `preScore`.
 */
export function partsOf(points: Points): readonly SchedulerPlugin[] {
  const at = (point: ExtensionPoint): readonly Chosen[] => points.get(point) ?? [];
  const isAt = (point: ExtensionPoint, plugin: SchedulerPlugin) => at(point).some((each) => each.plugin === plugin);
  const needs = (plugin: SchedulerPlugin, hook: "preFilter" | "preScore") => !plugin[hook] || isAt(hook, plugin);
  const parts = (point: ExtensionPoint, ...hooks: Hook[]) => at(point).map(({ plugin }) => pick(plugin, hooks));
  const isFiltering = (plugin: SchedulerPlugin) => isAt("filter", plugin) && needs(plugin, "preFilter");
  return [
    ...parts("preEnqueue", "preEnqueue", "groupOf"),
    ...parts("queueSort", "queueSort"),
    ...parts("preFilter", "candidates"),
    ...at("filter")
      .filter(({ plugin }) => isFiltering(plugin))
      .map(({ plugin }) => filterPart(plugin, at("score"))),
    ...parts("postFilter", "postFilter"),
    ...at("score")
      .filter(({ plugin }) => needs(plugin, "preScore"))
      .map((chosen) => scorePart(chosen, isFiltering(chosen.plugin))),
    ...parts("reserve", "reserve", "unreserve"),
    ...parts("permit", "permit"),
    ...parts("preBind", "preBind", "untilReady"),
    ...parts("bind", "bind"),
    ...parts("postBind", "postBind"),
    ...unplaced(points),
  ].filter((part) => Object.keys(part).length > 2);
}

/** A plugin that compares nodes answers for its filter and its score at once, so both are in this part. */
function filterPart(plugin: SchedulerPlugin, scorers: readonly Chosen[]): SchedulerPlugin {
  const part = pick(plugin, ["looksAt", "basis", "preFilter", "filter"]);
  const scorer = scorers.find((each) => each.plugin === plugin);
  const { acrossNodes } = plugin;
  if (!acrossNodes) return part;
  if (scorer) return { ...part, acrossNodes, weight: scorer.weight };
  return { ...part, acrossNodes: (pod, snapshot) => withoutScore(acrossNodes(pod, snapshot)) };
}

function scorePart({ plugin, weight }: Chosen, isFiltering: boolean): SchedulerPlugin {
  const part = { ...pick(plugin, ["looksAt", "basis", "preScore", "score", "normalize"]), weight };
  const { acrossNodes } = plugin;
  if (!acrossNodes || isFiltering) return part;
  return { ...part, acrossNodes: (pod, snapshot) => withoutFilter(acrossNodes(pod, snapshot)) };
}

type Across = ReturnType<NonNullable<SchedulerPlugin["acrossNodes"]>>;
const withoutScore = (across: Across): Across => across && { ...across, score: undefined };
const withoutFilter = (across: Across): Across => across && { filter: undefined, score: across.score };

/** Hooks of no extension point. A plugin that runs at any point needs them, once. */
const unplaced = (points: Points): SchedulerPlugin[] =>
  [...new Set([...points.values()].flat().map(({ plugin }) => plugin))].map((plugin) =>
    pick(plugin, ["follow", "observe", "prepare"]),
  );

function pick(plugin: SchedulerPlugin, hooks: readonly Hook[]): SchedulerPlugin {
  const picked = hooks.flatMap((hook) => (plugin[hook] ? [[hook, plugin[hook]]] : []));
  return { name: plugin.name, retryOn: plugin.retryOn ?? {}, ...Object.fromEntries(picked) };
}
