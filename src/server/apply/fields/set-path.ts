import { type FieldSet, leaf } from "./field-set.ts";
import { type PathElement } from "./path-element.ts";

/**
 * The members of a field set, one after the other. Similar objects own the same fields, so they follow the same path and
 * get the same set: it is created and stored once, and equal sets are identical.
 *
 *     start ─ "." ─→ ○ ─ f:image ─→ ○ ─ f:name ─→ ●  { ".": {}, "f:image": {}, "f:name": {} }
 */
export class SetPath {
  readonly #before: SetPath | undefined;
  readonly #element: PathElement;
  readonly #node: FieldSet;
  /** The last step taken is usually the next one too, and often there is no other. */
  #last: SetPath | undefined;
  #others: Map<PathElement, Map<FieldSet, SetPath>> | undefined;
  #set: FieldSet | undefined;
  readonly #length: number;

  private constructor(before: SetPath | undefined, element: PathElement, node: FieldSet) {
    this.#before = before;
    this.#length = before ? before.#length + 1 : 0;
    this.#element = element;
    this.#node = node;
  }

  static start(): SetPath {
    if (steps > maxSteps) {
      start = new SetPath(undefined, "", leaf);
      steps = 0;
    }
    start ??= new SetPath(undefined, "", leaf);
    return start;
  }

  /** Adds one member; members must come in order. */
  with(element: PathElement, node: FieldSet): SetPath {
    const last = this.#last;
    if (last !== undefined && last.#node === node && last.#element === element) return last;
    if (this.#length >= maxShared || unshared.has(node)) return new SetPath(this, element, node);
    const next = last === undefined ? this.#added(element, node) : this.#other(element, node, last);
    this.#last = next;
    return next;
  }

  get set(): FieldSet {
    this.#set ??= this.#make();
    return this.#set;
  }

  #added(element: PathElement, node: FieldSet): SetPath {
    steps++;
    return new SetPath(this, element, node);
  }

  #other(element: PathElement, node: FieldSet, last: SetPath): SetPath {
    this.#others ??= new Map([[last.#element, new Map([[last.#node, last]])]]);
    let byNode = this.#others.get(element);
    if (!byNode) {
      byNode = new Map();
      this.#others.set(element, byNode);
    }
    let next = byNode.get(node);
    if (!next) {
      next = this.#added(element, node);
      byNode.set(node, next);
    }
    return next;
  }

  #make(): FieldSet {
    const members: SetPath[] = [];
    for (let at: SetPath = this; at.#before; at = at.#before) members.push(at);
    const set: Record<PathElement, FieldSet> = {};
    for (const member of members.reverse()) set[member.#element] = member.#node;
    if (members.length > maxShared || members.some((member) => unshared.has(member.#node))) unshared.add(set);
    return set;
  }
}

/** Long sets are lists of somebody's own items. No other object has the same, so their members are not kept. */
const maxShared = 256;
/** Long sets, and those that contain one. */
const unshared = new WeakSet<FieldSet>();

/** When there are too many, all are dropped: those that are needed are created again. */
const maxSteps = 16_384;
let steps = 0;
let start: SetPath | undefined;

/** The path through the members of a set, which are in order. */
export function pathOf(set: FieldSet): SetPath {
  let path = SetPath.start();
  for (const element in set) path = path.with(element, set[element] as FieldSet);
  return path;
}
