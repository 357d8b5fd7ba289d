import { equal } from "#lib/data/equal.ts";
import { isObject, setOwn } from "#lib/data/json-object.ts";
import { elementIn } from "./fields/compare.ts";
import { type PathElement } from "./fields/path-element.ts";
import { type KeyedShape, type SetShape, type Shape } from "./fields/shape.ts";

/** Merges an applied configuration into the live object. Unchanged parts are shared with `live`. */
export function mergeValues(shape: Shape, live: unknown, config: unknown): unknown {
  if (config === undefined || live === config) return live;
  if (live === undefined) return config;
  switch (shape.kind) {
    case "leaf":
      return equal(live, config) ? live : config;
    case "object":
      return mergeObjects((name) => shape.byName.get(name)?.shape ?? unknownShape, live, config);
    case "map":
      return mergeObjects(() => shape.value, live, config);
    case "deduced":
      return isObject(config) || config === null ? mergeObjects(() => shape, live, config) : config;
    default:
      return mergeLists(shape, live, config);
  }
}
const unknownShape: Shape = { kind: "deduced" };

function mergeObjects(shapeIn: (name: string) => Shape, live: unknown, config: unknown): unknown {
  if (!isObject(live) || isEmpty(live)) return config;
  if (!isObject(config)) return live;
  let merged: Record<string, unknown> | undefined;
  for (const name of Object.keys(config)) {
    const mine = Object.hasOwn(live, name) ? live[name] : undefined;
    const value = mergeValues(shapeIn(name), mine, config[name]);
    if (value === mine) continue;
    merged ??= { ...live };
    setOwn(merged, name, value);
  }
  return merged ?? live;
}
const isEmpty = (value: unknown): boolean =>
  value === null || (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0);

type ListShape = SetShape | KeyedShape;

function mergeLists(shape: ListShape, live: unknown, config: unknown): unknown {
  if (isEmpty(live)) return config;
  if (!Array.isArray(live) || !Array.isArray(config) || config.length === 0) return live;
  const merged = new ListMerge(shape, live, config).run();
  return merged.length === live.length && merged.every((item, index) => item === live[index]) ? live : merged;
}

/**
 * Merges two lists of keyed items. The items of the configuration come in its order; items that only the live list has
 * stay behind the items that they were behind, as far as that order allows.
 */
class ListMerge {
  readonly #shape: ListShape;
  readonly #live: readonly unknown[];
  readonly #liveElements: readonly PathElement[];
  /** Null for a key that several live items have, because none of them can be merged. */
  readonly #liveItems = new Map<PathElement, unknown>();
  readonly #wanted: readonly PathElement[];
  readonly #wantedItems = new Map<PathElement, unknown>();
  /**
   * The items that both lists have, in the order of the configuration; the first is the next that can be merged in
   * place.
   */
  readonly #shared: PathElement[];
  readonly #done = new Set<PathElement>();
  readonly #out: unknown[] = [];

  constructor(shape: ListShape, live: readonly unknown[], config: readonly unknown[]) {
    this.#shape = shape;
    this.#live = live;
    this.#liveElements = live.map((item) => elementIn(shape, item));
    this.#wanted = config.map((item) => elementIn(shape, item));
    this.#liveElements.forEach((element, index) => {
      this.#liveItems.set(element, this.#liveItems.has(element) ? null : live[index]);
    });
    this.#wanted.forEach((element, index) => {
      this.#wantedItems.set(element, config[index]);
    });
    this.#shared = this.#wanted.filter((element) => this.#liveItems.has(element));
  }

  run(): unknown[] {
    let at = 0;
    let next = 0;
    while (at < this.#live.length || next < this.#wanted.length) {
      const mine = this.#liveElements[at];
      const wanted = this.#wanted[next];
      if (mine !== undefined && wanted !== undefined) {
        if (mine === wanted) {
          this.#merge(wanted);
          at++;
          next++;
          continue;
        }
        // It comes later, where the configuration wants it.
        if (this.#wantedItems.has(mine) && this.#shared.length > 0 && this.#shared[0] !== mine) {
          at++;
          continue;
        }
      }
      if (mine !== undefined) {
        if (!this.#wantedItems.has(mine)) {
          this.#out.push(this.#live[at++]);
          continue;
        }
        if (this.#done.has(mine)) at++;
      }
      if (wanted === undefined) continue;
      this.#merge(wanted);
      next++;
    }
    return this.#out;
  }

  #merge(element: PathElement): void {
    const item = this.#shape.kind === "keyed" ? this.#shape.item : undefined;
    const live = this.#liveItems.get(element);
    const wanted = this.#wantedItems.get(element);
    this.#out.push(item && live !== null ? mergeValues(item, live, wanted) : wanted);
    this.#done.add(element);
    if (this.#shared[0] === element) this.#shared.shift();
  }
}
