import { hexOf, putWords, wordAt } from "./hex-words.ts";
import { type Facts, type Hop, type HopName, type HopObject, hopNames, type Steps } from "./hop.ts";
import { maxSteps, stepId } from "./ids.ts";

const idWords = 8;
const numbers = 3;

/**
 * The last hops, and the steps within each request. The parts are in columns, so that recording allocates nothing and
 * the kept hops do not slow down the garbage collector. Memory is touched only as far as it is used.
 *
 *     ids      [ trace: 4 words, span: 2, parent: 2 | … ]
 *     numbers  [ revision, start, duration | … ]
 *     steps    [ durations of up to 15 | … ], names of the steps beside them
 *     strings  [ resource | … ] [ namespace | … ] [ name | … ] [ component | … ]
 */
export class HopRing {
  readonly #capacity: number;
  readonly #ids: Uint32Array;
  readonly #numbers: Float64Array;
  readonly #hops: Uint8Array;
  readonly #stepCounts: Uint8Array;
  readonly #steps: Float32Array;
  readonly #stepHops: Uint8Array;
  readonly #components: string[] = [];
  readonly #resources: string[] = [];
  readonly #namespaces: string[] = [];
  readonly #names: string[] = [];
  readonly #facts: (Facts | undefined)[] = [];
  #pushed = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#ids = new Uint32Array(capacity * idWords);
    this.#numbers = new Float64Array(capacity * numbers);
    this.#hops = new Uint8Array(capacity);
    this.#stepCounts = new Uint8Array(capacity);
    this.#steps = new Float32Array(capacity * maxSteps);
    this.#stepHops = new Uint8Array(capacity * maxSteps);
  }

  push(hop: Hop, steps: Steps | undefined): void {
    const slot = this.#pushed++ % this.#capacity;
    const id = slot * idWords;
    putWords(this.#ids, id, hop.traceId);
    putWords(this.#ids, id + 4, hop.spanId);
    putWords(this.#ids, id + 6, hop.parentId || noParent);
    const at = slot * numbers;
    this.#numbers[at] = hop.revision;
    this.#numbers[at + 1] = hop.startMs;
    this.#numbers[at + 2] = hop.durationMs;
    this.#hops[slot] = hopNames.indexOf(hop.hop);
    this.#components[slot] = hop.component;
    const { object } = hop;
    this.#resources[slot] = object?.resource ?? "";
    this.#namespaces[slot] = object?.namespace ?? "";
    this.#names[slot] = object?.name ?? "";
    this.#facts[slot] = hop.facts;
    this.#pushSteps(slot, hop.startMs, steps);
  }

  #pushSteps(slot: number, startMs: number, steps: Steps | undefined): void {
    const count = Math.min(steps?.hops.length ?? 0, maxSteps);
    this.#stepCounts[slot] = count;
    if (!steps) return;
    let from = startMs;
    const first = slot * maxSteps;
    for (let at = 0; at < count; at++) {
      const end = steps.endsMs[at] ?? from;
      this.#steps[first + at] = end - from;
      this.#stepHops[first + at] = hopNames.indexOf(steps.hops[at] ?? "client");
      from = end;
    }
  }

  /** Oldest first; the steps of a hop follow it. */
  *all(): Iterable<Hop> {
    for (const slot of this.#slots()) yield* this.#expand(slot);
  }

  *ofTrace(traceId: string): Iterable<Hop> {
    if (traceId.length !== 32) return;
    const [a, b, c, d] = [0, 8, 16, 24].map((from) => wordAt(traceId, from));
    const ids = this.#ids;
    for (const slot of this.#slots()) {
      const at = slot * idWords;
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

  *#expand(slot: number): Iterable<Hop> {
    const hop = this.#hopAt(slot);
    yield hop;
    let startMs = hop.startMs;
    const first = slot * maxSteps;
    for (let at = 0; at < (this.#stepCounts[slot] ?? 0); at++) {
      const durationMs = this.#steps[first + at] ?? 0;
      const name = nameOf(this.#stepHops[first + at]);
      yield stepOf(hop, { at, name, startMs, durationMs });
      startMs += durationMs;
    }
  }

  #hopAt(slot: number): Hop {
    const id = slot * idWords;
    const at = slot * numbers;
    const parentId = hexOf(this.#ids, id + 6, 2);
    const resource = this.#resources[slot] ?? "";
    return {
      traceId: hexOf(this.#ids, id, 4),
      spanId: hexOf(this.#ids, id + 4, 2),
      parentId: parentId === noParent ? "" : parentId,
      hop: nameOf(this.#hops[slot]),
      component: this.#components[slot] ?? "",
      object: resource
        ? { resource, namespace: this.#namespaces[slot] ?? "", name: this.#names[slot] ?? "" }
        : undefined,
      revision: this.#numbers[at] ?? 0,
      startMs: this.#numbers[at + 1] ?? 0,
      durationMs: this.#numbers[at + 2] ?? 0,
      facts: this.#facts[slot],
    };
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
