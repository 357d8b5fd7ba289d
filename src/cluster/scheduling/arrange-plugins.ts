import { type SchedulerPlugin } from "#scheduler/framework.ts";
import {
  duplicateValue,
  type FieldError,
  type FieldPath,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "#schema/field-error.ts";
import { type ExtensionPoint, extensionPoints, type PluginSet, type Plugins } from "./configuration.ts";
import { type Chosen, extendsPoint, type Points, partsOf, wholeOf } from "./plugin-parts.ts";

export interface Available {
  /** Those that run unless they are disabled, in order. */
  readonly defaults: readonly SchedulerPlugin[];
  /** Those that run only if they are enabled. */
  readonly others: readonly SchedulerPlugin[];
}

/** The plugins of a profile in the order in which they run, or what is wrong with the choice. */
export interface Arranged {
  readonly plugins: readonly SchedulerPlugin[];
  readonly faults: readonly FieldError[];
}

/**
 * Merges the choice of a profile with the default plugins. As upstream, what is said about one extension point counts
 * before what is said about all, and what is enabled before what is disabled.
 */
export function arrangePlugins(available: Available, choice: Plugins, at: FieldPath): Arranged {
  const faults = findFaults(available, choice, at);
  const byName = new Map([...available.defaults, ...available.others].map((plugin) => [plugin.name, plugin]));
  const everywhere = merge(available.defaults, choice.multiPoint ?? {}, byName);
  const points = new Map(
    extensionPoints.map((point) => [point, chosenAt(point, everywhere, choice[point] ?? {}, byName)]),
  );
  faults.push(...missingPlugins(points, at));
  const isWhole = extensionPoints.every((point) => choice[point] === undefined);
  return { plugins: isWhole ? everywhere.map(wholeOf) : partsOf(points), faults };
}

const all = "*";

/** The plugins at every point that they have, in order. A default plugin that is enabled again keeps its place. */
function merge(
  defaults: readonly SchedulerPlugin[],
  { enabled = [], disabled = [] }: PluginSet,
  byName: ReadonlyMap<string, SchedulerPlugin>,
): readonly Chosen[] {
  const off = new Set(disabled.map(({ name }) => name));
  const on = new Map(enabled.map(({ name, weight }) => [name, weight || 1]));
  const kept = off.has(all) ? [] : defaults.filter(({ name }) => !off.has(name));
  const names = new Set([...kept.map(({ name }) => name), ...on.keys()]);
  return [...names].flatMap((name) => {
    const plugin = byName.get(name);
    return plugin ? [{ plugin, weight: on.get(name) ?? plugin.weight ?? 1 }] : [];
  });
}

function chosenAt(
  point: ExtensionPoint,
  everywhere: readonly Chosen[],
  { enabled = [], disabled = [] }: PluginSet,
  byName: ReadonlyMap<string, SchedulerPlugin>,
): readonly Chosen[] {
  const off = new Set(disabled.map(({ name }) => name));
  const general = off.has(all)
    ? []
    : everywhere.filter(({ plugin }) => extendsPoint(plugin, point) && !off.has(plugin.name));
  const named = enabled.flatMap(({ name, weight }) => {
    const plugin = byName.get(name);
    return plugin ? [{ plugin, weight: weight || 1 }] : [];
  });
  const namedHere = new Set(named.map(({ plugin }) => plugin));
  const generalHere = new Set(general.map(({ plugin }) => plugin));
  return [
    ...named.filter(({ plugin }) => generalHere.has(plugin)),
    ...general.filter(({ plugin }) => !namedHere.has(plugin)),
    ...named.filter(({ plugin }) => !generalHere.has(plugin)),
  ];
}

function findFaults({ defaults, others }: Available, choice: Plugins, at: FieldPath): FieldError[] {
  const byName = new Map([...defaults, ...others].map((plugin) => [plugin.name, plugin]));
  const names = [...byName.keys()].sort();
  return ([...extensionPoints, "multiPoint"] as const).flatMap((point) => {
    const { enabled = [], disabled = [] } = choice[point] ?? {};
    const place = at.child(point);
    const seen = new Set<string>();
    const on = enabled.flatMap(({ name }, index): FieldError[] => {
      const where = place.child("enabled").index(index);
      const plugin = byName.get(name);
      if (!plugin) return [unsupportedValue(where.child("name"), name, names)];
      if (seen.has(name)) return [duplicateValue(where, name)];
      seen.add(name);
      if (point === "multiPoint" || extendsPoint(plugin, point)) return [];
      return [invalidValue(where.child("name"), name, `plugin "${name}" does not extend ${point} plugin`)];
    });
    const off = disabled.flatMap(({ name }, index): FieldError[] => {
      const isKnown = name === all || byName.has(name);
      return isKnown ? [] : [unsupportedValue(place.child("disabled").index(index).child("name"), name, names)];
    });
    return [...on, ...off];
  });
}

/** Every profile needs an order, and somebody who binds. */
function missingPlugins(points: Points, at: FieldPath): FieldError[] {
  const sorters = points.get("queueSort") ?? [];
  const faults: FieldError[] = [];
  if (sorters.length === 0) faults.push(requiredValue(at.child("queueSort"), "one queue sort plugin must be enabled"));
  if (sorters.length > 1) {
    const place = at.child("queueSort", "enabled");
    faults.push(invalidValue(place, sorters.length, "only one queue sort plugin can be enabled"));
  }
  if (points.get("bind")?.length === 0) {
    faults.push(requiredValue(at.child("bind"), "at least one bind plugin is needed"));
  }
  return faults;
}
