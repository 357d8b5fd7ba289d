import { hexOf, putWords, wordAt } from "./hex-words.ts";
import { type Facts, type Hop, type HopName, type HopObject, hopNames, type Steps } from "./hop.ts";
import { maxSteps, stepId } from "./ids.ts";

const idWords = 8;
const numbers = 3;

/**
 * The last hops, and the steps within each request. The parts are in columns, so that recording allocates nothing and
 * the kept hops do not slow down the garbage collector. The columns are cut into pages that are made when they are first
 * written, so that a recorder which records little takes little memory.
 *
 *     ids      [ trace: 4 words, span: 2, parent: 2 | … ]
 *     numbers  [ revision, start, duration | … ]
 *     steps    [ durations of up to 15 | … ], names of the steps beside them
 *     strings  [ resource | … ] [ namespace | … ] [ name | … ] [ component | … ]     not in pages
 */
export class HopRing {
  readonly #capacity: number;
  readonly #pages: Page[] = [];
  readonly #components: string[] = [];
  readonly #resources: string[] = [];
  readonly #namespaces: string[] = [];
  readonly #names: string[] = [];
  readonly #facts: (Facts | undefined)[] = [];
  #pushed = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  push(hop: Hop, steps: Steps | undefined): void {
    const slot = this.#pushed++ % this.#capacity;
    const page = this.#pages[pageOf(slot)] ?? createPage();
    this.#pages[pageOf(slot)] = page;
    const row = slot % pageSize;
    const id = row * idWords;
    putWords(page.ids, id, hop.traceId);
    putWords(page.ids, id + 4, hop.spanId);
    putWords(page.ids, id + 6, hop.parentId || noParent);
    const at = row * numbers;
    page.numbers[at] = hop.revision;
    page.numbers[at + 1] = hop.startMs;
    page.numbers[at + 2] = hop.durationMs;
    page.hops[row] = hopNames.indexOf(hop.hop);
    this.#components[slot] = hop.component;
    const { object } = hop;
    this.#resources[slot] = object?.resource ?? "";
    this.#namespaces[slot] = object?.namespace ?? "";
    this.#names[slot] = object?.name ?? "";
    this.#facts[slot] = hop.facts;
    putSteps(page, row, { startMs: hop.startMs, steps });
  }

  /** Oldest first; the steps of a hop follow it. */
  *all(): Iterable<Hop> {
    for (const slot of this.#slots()) yield* this.#expand(slot);
  }

  *ofTrace(traceId: string): Iterable<Hop> {
    if (traceId.length !== 32) return;
    const [a, b, c, d] = [0, 8, 16, 24].map((from) => wordAt(traceId, from));
    for (const slot of this.#slots()) {
      const { ids } = this.#pageWith(slot);
      const at = (slot % pageSize) * idWords;
      // The last word differs most, so it is compared first.
      if (ids[at + 3] !== d || ids[at + 2] !== c || ids[at + 1] !== b || ids[at] !== a) continue;
      yield* this.#expand(slot);
    }
  }

  /** Hops about the object itself, without their steps. */
  *ofObject({ resource, namespace, name }: HopObject): Iterable<Hop> {
    for (const slot of this.#slots()) {
      if (this.#names[slot] !== name || this.#namespaces[slot] !== namespace) continue;
      if (this.#resources[slot] === resource) yield this.#hopAt(slot);
    }
  }

  *#slots(): Iterable<number> {
    const oldest = Math.max(0, this.#pushed - this.#capacity);
    for (let at = oldest; at < this.#pushed; at++) yield at % this.#capacity;
  }

  /** A slot that has been written has a page. */
  #pageWith(slot: number): Page {
    return this.#pages[pageOf(slot)] as Page;
  }

  *#expand(slot: number): Iterable<Hop> {
    const hop = this.#hopAt(slot);
    yield hop;
    let startMs = hop.startMs;
    const page = this.#pageWith(slot);
    const row = slot % pageSize;
    const first = row * maxSteps;
    for (let at = 0; at < (page.stepCounts[row] ?? 0); at++) {
      const durationMs = page.steps[first + at] ?? 0;
      const name = nameOf(page.stepHops[first + at]);
      yield stepOf(hop, { at, name, startMs, durationMs });
      startMs += durationMs;
    }
  }

  #hopAt(slot: number): Hop {
    const page = this.#pageWith(slot);
    const row = slot % pageSize;
    const id = row * idWords;
    const at = row * numbers;
    const parentId = hexOf(page.ids, id + 6, 2);
    const resource = this.#resources[slot] ?? "";
    return {
      traceId: hexOf(page.ids, id, 4),
      spanId: hexOf(page.ids, id + 4, 2),
      parentId: parentId === noParent ? "" : parentId,
      hop: nameOf(page.hops[row]),
      component: this.#components[slot] ?? "",
      object: resource
        ? { resource, namespace: this.#namespaces[slot] ?? "", name: this.#names[slot] ?? "" }
        : undefined,
      revision: page.numbers[at] ?? 0,
      startMs: page.numbers[at + 1] ?? 0,
      durationMs: page.numbers[at + 2] ?? 0,
      facts: this.#facts[slot],
    };
  }
}

/** How many hops a page has room for. */
const pageSize = 1 << 10;
const pageOf = (slot: number): number => Math.floor(slot / pageSize);

interface Page {
  readonly ids: Uint32Array;
  readonly numbers: Float64Array;
  readonly hops: Uint8Array;
  readonly stepCounts: Uint8Array;
  readonly steps: Float32Array;
  readonly stepHops: Uint8Array;
}

const createPage = (): Page => ({
  ids: new Uint32Array(pageSize * idWords),
  numbers: new Float64Array(pageSize * numbers),
  hops: new Uint8Array(pageSize),
  stepCounts: new Uint8Array(pageSize),
  steps: new Float32Array(pageSize * maxSteps),
  stepHops: new Uint8Array(pageSize * maxSteps),
});

function putSteps(page: Page, row: number, { startMs, steps }: { startMs: number; steps: Steps | undefined }): void {
  const count = Math.min(steps?.hops.length ?? 0, maxSteps);
  page.stepCounts[row] = count;
  if (!steps) return;
  let from = startMs;
  const first = row * maxSteps;
  for (let at = 0; at < count; at++) {
    const end = steps.endsMs[at] ?? from;
    page.steps[first + at] = end - from;
    page.stepHops[first + at] = hopNames.indexOf(steps.hops[at] ?? "client");
    from = end;
  }
}

const noParent = "0".repeat(16);
const nameOf = (at: number | undefined): HopName => hopNames[at ?? 0] ?? "client";

function stepOf(
  { traceId, spanId, component, object, revision }: Hop,
  { at, name, ...times }: { at: number; name: HopName; startMs: number; durationMs: number },
): Hop {
  return {
    traceId,
    spanId: stepId(spanId, at),
    parentId: spanId,
    hop: name,
    component,
    object,
    revision: name === "persist" ? revision : 0,
    ...times,
    facts: undefined,
  };
}
