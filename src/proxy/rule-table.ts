import { compareText } from "#lib/data/compare-text.ts";

/** What one owner adds to a table. Names of chains and sets are the owner's; elements may be shared with other owners. */
export interface Fragment {
  /** The rules of each chain, in order. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** The definition of each set, `type ipv4_addr; timeout 10s;`. Another definition needs another name. Only the owner may
   * add elements to it. */
  readonly sets: ReadonlyMap<string, string>;
  readonly elements: readonly Element[];
  /** If several owners have the same element, the lowest rank wins. */
  readonly rank?: string;
}

/** An element of one of the table's sets and maps, or of a set of the fragment; `value` is "" for a set. */
export interface Element {
  readonly set: string;
  readonly key: string;
  readonly value: string;
}

/** The fixed part of the table. */
export interface TableFrame {
  readonly family: "ip" | "ip6";
  readonly name: string;
  readonly sets: readonly { readonly name: string; readonly kind: "set" | "map"; readonly definition: string }[];
  /** With `hook` it is a base chain: `type nat hook output priority -100;`. */
  readonly chains: readonly { readonly name: string; readonly hook?: string; readonly rules: readonly string[] }[];
}

const elementsPerLine = 400;

/**
 * The wanted rules of a table, and those that the kernel was last sent. It only renders text: each text is a transaction
 * for `nft -f -`, with the whole table or, if the kernel has the last one, only the difference.
 */
export class RuleTable {
  readonly #frame: TableFrame;
  readonly #fragments = new Map<string, Fragment>();
  readonly #chains = new Map<string, readonly string[]>();
  readonly #sets = new Map<string, string>();
  /** Set, key, owner, value. Of several owners the first by rank, then by name, wins. */
  readonly #elements = new Map<string, Map<string, Map<string, string>>>();
  /** What may differ from what was sent. */
  readonly #touched = { chains: new Set<string>(), sets: new Set<string>(), elements: new Map<string, Set<string>>() };
  #sent: Sent | undefined;
  /** Owners whose fragments the kernel has not been sent yet, or has refused. */
  readonly #unsent = new Set<string>();
  /** Restores the state before the last transaction. */
  #undo: (() => void)[] = [];

  constructor(frame: TableFrame) {
    this.#frame = frame;
    for (const { name } of frame.sets) this.#elements.set(name, new Map());
  }

  /** Adds or replaces an owner's fragment; undefined removes it. */
  set(owner: string, fragment: Fragment | undefined): void {
    const old = this.#fragments.get(owner);
    if (old) this.#withdraw(owner, old);
    if (fragment) this.#unsent.add(owner);
    else this.#unsent.delete(owner);
    if (!fragment) {
      this.#fragments.delete(owner);
      return;
    }
    this.#fragments.set(owner, fragment);
    for (const [name, rules] of fragment.chains) {
      this.#chains.set(name, rules);
      this.#touched.chains.add(name);
    }
    for (const [name, definition] of fragment.sets) {
      this.#sets.set(name, definition);
      this.#touched.sets.add(name);
    }
    for (const element of fragment.elements) this.#claim(owner, element);
  }

  /** Whether there may be something to send. */
  get hasChanges(): boolean {
    const { chains, sets, elements } = this.#touched;
    return chains.size > 0 || sets.size > 0 || elements.size > 0;
  }

  /** The next transaction, "" if nothing changed. It counts as sent until `rollBack` or `forget`. */
  takeChanges(): string {
    const isWhole = !this.#sent;
    const sent = this.#sent ?? { chains: new Map(), sets: new Map(), elements: new Map() };
    if (isWhole) this.#touchAll();
    const lines = isWhole ? this.#frameLines() : [];
    this.#sent = sent;
    this.#undo = isWhole ? [() => this.forget()] : [];
    lines.push(...this.#changeLines(sent));
    this.#keepForRollBack();
    return lines.length > 0 ? `${lines.join("\n")}\n` : "";
  }

  /** Call this when the kernel refused the last transaction, and so has what it had before. */
  rollBack(): void {
    const undo = this.#undo;
    this.#undo = [];
    for (const step of undo.reverse()) step();
  }

  /** Forgets what the kernel has, so that the next transaction is the whole table. */
  forget(): void {
    this.#sent = undefined;
    this.#undo = [];
  }

  /** Call this when the kernel has accepted the last transaction. */
  confirm(): void {
    this.#unsent.clear();
    this.#undo = [];
  }

  /** The fragments that the kernel has not accepted yet, by owner; or all. */
  fragments(which: "unsent" | "all"): Map<string, Fragment> {
    const owners = which === "all" ? this.#fragments.keys() : this.#unsent;
    return new Map(
      [...owners].flatMap((owner) => {
        const fragment = this.#fragments.get(owner);
        return fragment ? [[owner, fragment] as const] : [];
      }),
    );
  }

  get frame(): TableFrame {
    return this.#frame;
  }

  #keepForRollBack(): void {
    const { chains, sets, elements } = this.#touched;
    const touched = { chains: [...chains], sets: [...sets], elements: [...elements] };
    this.#undo.unshift(() => {
      for (const name of touched.chains) chains.add(name);
      for (const name of touched.sets) sets.add(name);
      for (const [set, keys] of touched.elements) for (const key of keys) this.#touch(set, key);
    });
    chains.clear();
    sets.clear();
    elements.clear();
  }

  #withdraw(owner: string, { chains, sets, elements }: Fragment): void {
    for (const name of chains.keys()) {
      this.#chains.delete(name);
      this.#touched.chains.add(name);
    }
    for (const name of sets.keys()) {
      this.#sets.delete(name);
      this.#touched.sets.add(name);
    }
    for (const { set, key } of elements) {
      const owners = this.#elements.get(set)?.get(key);
      owners?.delete(owner);
      if (owners?.size === 0) this.#elements.get(set)?.delete(key);
      this.#touch(set, key);
    }
    for (const name of sets.keys()) this.#elements.delete(name);
  }

  #claim(owner: string, { set, key, value }: Element): void {
    let keys = this.#elements.get(set);
    if (!keys) {
      if (!this.#sets.has(set)) throw new Error(`table ${this.#frame.name} has no set ${set}`);
      keys = new Map();
      this.#elements.set(set, keys);
    }
    const owners = keys.get(key);
    if (owners) owners.set(owner, value);
    else keys.set(key, new Map([[owner, value]]));
    this.#touch(set, key);
  }

  #touch(set: string, key: string): void {
    const keys = this.#touched.elements.get(set);
    if (keys) keys.add(key);
    else this.#touched.elements.set(set, new Set([key]));
  }

  #touchAll(): void {
    for (const name of this.#chains.keys()) this.#touched.chains.add(name);
    for (const name of this.#sets.keys()) this.#touched.sets.add(name);
    for (const [set, keys] of this.#elements) for (const key of keys.keys()) this.#touch(set, key);
  }

  /** Creates the empty table, and deletes any earlier one. */
  #frameLines(): string[] {
    const { family, name, sets, chains } = this.#frame;
    const table = `${family} ${name}`;
    return [
      `add table ${table}`,
      `delete table ${table}`,
      `add table ${table}`,
      ...sets.map((set) => `add ${set.kind} ${table} ${set.name} { ${set.definition} }`),
      ...chains.map((chain) => `add chain ${table} ${chain.name}${chain.hook ? ` { ${chain.hook} }` : ""}`),
      ...chains.flatMap((chain) => chain.rules.map((rule) => `add rule ${table} ${chain.name} ${rule}`)),
    ];
  }

  /**
   * The only order that the kernel accepts: create what is referred to before what refers to it, and delete in reverse.
   * Afterwards `sent` equals what is wanted.
   */
  #changeLines(sent: Sent): string[] {
    const table = `${this.#frame.family} ${this.#frame.name}`;
    const undo = this.#undo;
    const chains = changesOf(this.#touched.chains, { wanted: this.#chains, known: sent.chains, undo });
    const sets = changesOf(this.#touched.sets, { wanted: this.#sets, known: sent.sets, undo });
    const elements = this.#elementChanges(sent);
    return [
      ...chains.gone.map((name) => `flush chain ${table} ${name}`),
      ...chains.changed.map((name) => `flush chain ${table} ${name}`),
      ...elements.gone.map((line) => `delete element ${table} ${line}`),
      ...chains.gone.map((name) => `delete chain ${table} ${name}`),
      ...sets.gone.map((name) => `delete set ${table} ${name}`),
      ...sets.added.map((name) => `add set ${table} ${name} { ${this.#sets.get(name)} }`),
      ...chains.added.map((name) => `add chain ${table} ${name}`),
      ...[...chains.changed, ...chains.added].flatMap((name) =>
        (this.#chains.get(name) ?? []).map((rule) => `add rule ${table} ${name} ${rule}`),
      ),
      ...elements.added.map((line) => `add element ${table} ${line}`),
    ];
  }

  #elementChanges(sent: Sent): { gone: string[]; added: string[] } {
    const lines = { gone: [] as string[], added: [] as string[] };
    for (const [set, keys] of this.#touched.elements) {
      let known = sent.elements.get(set);
      if (!known) {
        known = new Map();
        sent.elements.set(set, known);
      }
      const wanted = new Map<string, string>();
      for (const key of keys) {
        const value = this.#winner(set, key);
        if (value !== undefined) wanted.set(key, value);
      }
      const { added, changed, gone } = changesOf(keys, { wanted, known, undo: this.#undo });
      lines.gone.push(...elementLines(set, [...gone, ...changed]));
      const texts = [...changed, ...added].map((key) => (wanted.get(key) ? `${key} : ${wanted.get(key)}` : key));
      lines.added.push(...elementLines(set, texts));
    }
    return lines;
  }

  #winner(set: string, key: string): string | undefined {
    const owners = this.#elements.get(set)?.get(key);
    if (!owners) return undefined;
    const [first = ""] = owners.size > 1 ? [...owners.keys()].sort((a, b) => this.#order(a, b)) : owners.keys();
    return owners.get(first);
  }

  #order(a: string, b: string): number {
    const [rankA = "", rankB = ""] = [this.#fragments.get(a)?.rank, this.#fragments.get(b)?.rank];
    return compareText(rankA, rankB) || compareText(a, b);
  }
}

/** What the kernel has beyond the frame. */
interface Sent {
  readonly chains: Map<string, readonly string[]>;
  readonly sets: Map<string, string>;
  readonly elements: Map<string, Map<string, string>>;
}

/** Sorts names into added, changed and gone, and updates `known` to what is wanted. */
function changesOf<T extends string | readonly string[]>(
  names: Iterable<string>,
  { wanted, known, undo }: { wanted: ReadonlyMap<string, T>; known: Map<string, T>; undo: (() => void)[] },
): { added: string[]; changed: string[]; gone: string[] } {
  const changes = { added: [] as string[], changed: [] as string[], gone: [] as string[] };
  for (const name of names) {
    const value = wanted.get(name);
    const old = known.get(name);
    if (old !== value) undo.push(() => (old === undefined ? known.delete(name) : known.set(name, old)));
    if (value === undefined) {
      if (known.delete(name)) changes.gone.push(name);
      continue;
    }
    if (old === undefined) changes.added.push(name);
    else if (String(old) !== String(value)) changes.changed.push(name);
    known.set(name, value);
  }
  return changes;
}

function elementLines(set: string, texts: readonly string[]): string[] {
  const lines: string[] = [];
  for (let at = 0; at < texts.length; at += elementsPerLine) {
    lines.push(`${set} { ${texts.slice(at, at + elementsPerLine).join(", ")} }`);
  }
  return lines;
}
