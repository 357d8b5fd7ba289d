import { type Pod } from "#api/core/pod.ts";
import { type Clock } from "#lib/async/clock.ts";
import { equal } from "#lib/data/equal.ts";
import { Heap } from "#lib/data/heap.ts";
import { type QueueAnswer } from "#trace/answers.ts";
import {
  type ClusterChange,
  type PodChange,
  type Profile,
  type QueuedPod,
  type RetryHints,
  type SchedulerPlugin,
} from "./framework.ts";

/** How long a pod waits after an attempt that failed: twice as long each time, up to a maximum. */
export interface Backoff {
  readonly initialMs: number;
  readonly maxMs: number;
}
const defaultBackoff: Backoff = { initialMs: 1000, maxMs: 10_000 };
/** Hints are not perfect, so every pod that has waited this long is tried again. */
const maxUnschedulableMs = 5 * 60_000;
const sweepMs = 30_000;
const maxMissed = 1000;

export type Place = "active" | "backoff" | "unschedulable" | "trying";

interface Entry extends QueuedPod {
  place: Place;
  /** When it may be tried again, while it backs off. */
  until: number;
  /** When it was last tried before that. */
  hurriedAt: number;
  /** Orders pods that were added at the same time. */
  order: number;
  /** The last attempt ended with an error, not with a rejection. */
  isError: boolean;
  /** Changes during its attempt, which may not have taken them into account. */
  missed: ClusterChange[];
  /** The pod itself has changed during its attempt. */
  isChanged: boolean;
}

/**
 * Pods without a node, in three places:
 *
 *   active        to be tried, the most important first
 *   backing off   to be tried, but failed a moment ago
 *   unschedulable waiting for a change that a plugin which rejected it says may help
 */
export class SchedulingQueue {
  readonly #clock: Clock;
  readonly #backoffTimes: Backoff;
  /** Scheduler name → plugin → when a pod that it rejected is tried again. */
  readonly #hints: ReadonlyMap<string, ReadonlyMap<string, RetryHints>>;
  // The heaps keep deleted and moved entries until they reach the top.
  readonly #active: Heap<Entry>;
  readonly #backoff: Heap<Entry>;
  readonly #unschedulable = new Set<Entry>();
  /** Those of them that plugins rejected which look at other pods. */
  readonly #waitingForPods = new Set<Entry>();
  readonly #trying = new Set<Entry>();
  /** Every pod that is in one of the three places, or being tried. */
  readonly #known = new Map<string, Entry>();
  #order = 0;
  /**
   * A change may have helped pods that back off, so they need not wait while the queue is idle and none is rejected.
   */
  #canHurry = false;
  #wake: (() => void) | undefined;
  #stopTimer: (() => void) | undefined;
  #stopSweep: (() => void) | undefined;

  /** All profiles have the same order. */
  constructor(clock: Clock, profiles: readonly Profile[], backoff: Backoff = defaultBackoff) {
    this.#clock = clock;
    this.#backoffTimes = backoff;
    this.#hints = new Map(profiles.map(({ schedulerName, plugins }) => [schedulerName, hintsBy(plugins)]));
    const sorter = profiles.flatMap(({ plugins }) => plugins).find(({ queueSort }) => queueSort);
    const goesFirst = (a: Entry, b: Entry): boolean => {
      if (sorter?.queueSort?.(a, b)) return true;
      return !sorter?.queueSort?.(b, a) && a.order < b.order;
    };
    this.#active = new Heap(goesFirst);
    this.#backoff = new Heap((a, b) => a.until < b.until || (a.until === b.until && goesFirst(a, b)));
  }

  get sizes(): Readonly<Record<Place, number>> {
    const sizes = { active: 0, backoff: 0, unschedulable: 0, trying: 0 };
    for (const { place } of this.#known.values()) sizes[place]++;
    return sizes;
  }

  /** Whether a pod could be tried now. */
  get hasActive(): boolean {
    return this.#peek(this.#active, "active") !== undefined;
  }

  /** The place of a pod, to explain why it is not scheduled. */
  placeOf(key: string): Place | undefined {
    return this.#known.get(key)?.place;
  }

  /** Where a pod waits, and what would wake it. */
  describe(key: string): QueueAnswer | undefined {
    const entry = this.#known.get(key);
    if (!entry) return undefined;
    const { place, until, rejectedBy } = entry;
    const hints = this.#hints.get(schedulerOf(entry.pod));
    const wokenBy = Object.fromEntries(Array.from(rejectedBy, (name) => [name, kindsIn(hints?.get(name) ?? {})]));
    return { place, wokenBy, ...(place === "backoff" ? { untilMs: until } : {}) };
  }

  /** Adds a new pod, or a new version of a waiting one. */
  put(key: string, pod: Pod): void {
    const entry = this.#known.get(key);
    if (!entry) return this.#add(key, pod);
    const mayHelp = isRelevantChange(entry.pod, pod);
    entry.pod = pod;
    if (!mayHelp) return;
    if (entry.place === "trying") entry.isChanged = true;
    if (entry.place === "unschedulable") this.#retry(entry);
  }

  delete(key: string): void {
    const entry = this.#known.get(key);
    if (!entry) return;
    this.#known.delete(key);
    this.#unschedulable.delete(entry);
    this.#waitingForPods.delete(entry);
    this.#trying.delete(entry);
  }

  /** Resolves with the next pod to try. */
  async next(signal: AbortSignal): Promise<QueuedPod> {
    for (;;) {
      signal.throwIfAborted();
      const found = this.tryNext();
      if (found) return found;
      await new Promise<void>((resolve) => {
        const done = () => {
          signal.removeEventListener("abort", done);
          this.#wake = undefined;
          resolve();
        };
        this.#wake = done;
        signal.addEventListener("abort", done, { once: true });
      });
    }
  }

  tryNext(): QueuedPod | undefined {
    const entry = this.#take(this.#active, "active") ?? this.#hurried();
    if (!entry) return undefined;
    entry.place = "trying";
    entry.attempts++;
    this.#trying.add(entry);
    return entry;
  }

  /** The pod has a node, unless the binding fails: changes no longer matter to it. */
  decided({ key }: QueuedPod): void {
    const entry = this.#known.get(key);
    if (entry) this.#trying.delete(entry);
  }

  /** No node fits: waits for a change that helps, unless one came meanwhile. */
  rejected({ key }: QueuedPod, rejectedBy: ReadonlySet<string>): void {
    const entry = this.#ended(key);
    if (!entry) return;
    entry.rejectedBy = rejectedBy;
    entry.rejections++;
    entry.errors = 0;
    entry.isError = false;
    this.#canHurry = false;
    const { missed, isChanged } = entry;
    entry.missed = [];
    entry.isChanged = false;
    if (isChanged || missed.some((change) => this.#canHelp(entry, change))) {
      this.#backOff(entry);
      return;
    }
    entry.place = "unschedulable";
    this.#unschedulable.add(entry);
    if (this.#hintsOf(entry).some(({ otherPod }) => otherPod)) this.#waitingForPods.add(entry);
    this.#stopSweep ??= this.#clock.after(sweepMs, () => this.#sweep());
  }

  /** An error that is unrelated to the pod: it is tried again after a delay. */
  failed({ key }: QueuedPod): void {
    const entry = this.#ended(key);
    if (!entry) return;
    entry.rejectedBy = new Set();
    entry.errors++;
    entry.isError = true;
    entry.missed = [];
    entry.isChanged = false;
    this.#backOff(entry);
  }

  /** What followed from the last attempt of a pod failed, so there has to be another one. */
  again(key: string): void {
    const entry = this.#known.get(key);
    if (entry?.place === "trying") entry.isChanged = true;
    if (entry?.place === "unschedulable") this.#retry(entry, false);
  }

  /** Wakes the pods that this change can help. It is nothing to the others. Some of them may have to wait for their backoff. */
  changed(change: ClusterChange, isConcerned: Test = everyPod, mayHurry: Test = everyPod): void {
    this.#note(change, isConcerned);
    for (const entry of [...this.#unschedulable]) {
      if (isConcerned(entry) && this.#canHelp(entry, change)) this.#retry(entry, mayHurry(entry));
    }
  }

  /** A pod came to a node, or changed there without freeing anything. */
  otherPodChanged(change: PodChange): void {
    this.#note(change);
    if (this.#waitingForPods.size === 0) return;
    for (const entry of [...this.#waitingForPods]) if (this.#canHelp(entry, change)) this.#retry(entry);
  }

  /** An attempt that takes long remembers only so many changes. After that, any may have helped. */
  #note(change: ClusterChange, isConcerned = everyPod): void {
    for (const entry of this.#trying) {
      if (!isConcerned(entry)) continue;
      if (entry.missed.length < maxMissed) entry.missed.push(change);
      else entry.isChanged = true;
    }
  }

  close(): void {
    this.#stopTimer?.();
    this.#stopSweep?.();
  }

  #add(key: string, pod: Pod): void {
    const entry: Entry = {
      pod,
      key,
      queuedAt: this.#clock.now(),
      attempts: 0,
      rejections: 0,
      errors: 0,
      rejectedBy: new Set(),
      place: "active",
      until: 0,
      hurriedAt: -Infinity,
      order: this.#order++,
      isError: false,
      missed: [],
      isChanged: false,
    };
    this.#known.set(key, entry);
    this.#activate(entry);
  }

  /** The entry of a pod whose attempt is over, unless it was deleted meanwhile. */
  #ended(key: string): Entry | undefined {
    const entry = this.#known.get(key);
    if (entry?.place !== "trying") return undefined;
    this.#trying.delete(entry);
    entry.queuedAt = this.#clock.now();
    entry.order = this.#order++;
    return entry;
  }

  #canHelp(entry: Entry, change: ClusterChange): boolean {
    const { pod, rejectedBy } = entry;
    // No plugin rejected it, because there were no nodes.
    if (rejectedBy.size === 0) return change.kind === "Node" && change.change === "created";
    return this.#hintsOf(entry).some((hints) => mayHelp(hints, pod, change));
  }

  #hintsOf({ pod, rejectedBy }: Entry): readonly RetryHints[] {
    const hints = this.#hints.get(schedulerOf(pod));
    return Array.from(rejectedBy, (name) => hints?.get(name) ?? {});
  }

  #backoffEnd({ queuedAt, errors, rejections }: Entry): number {
    const failures = errors || rejections;
    const { initialMs, maxMs } = this.#backoffTimes;
    return queuedAt + Math.min(initialMs * 2 ** Math.max(failures - 1, 0), maxMs);
  }

  #retry(entry: Entry, mayHurry = true): void {
    this.#unschedulable.delete(entry);
    this.#waitingForPods.delete(entry);
    if (this.#backoffEnd(entry) <= this.#clock.now()) return this.#activate(entry);
    if (mayHurry) this.#canHurry = true;
    this.#backOff(entry);
    this.#wake?.();
  }

  #activate(entry: Entry): void {
    entry.place = "active";
    this.#active.push(entry);
    this.#wake?.();
  }

  #backOff(entry: Entry): void {
    entry.place = "backoff";
    entry.until = this.#backoffEnd(entry);
    this.#backoff.push(entry);
    this.#armTimer();
  }

  /** When the queue is otherwise idle, the first pod that backs off need not wait, unless it failed with an error. */
  #hurried(): Entry | undefined {
    const first = this.#peek(this.#backoff, "backoff");
    const now = this.#clock.now();
    if (!first || this.#hurriesAt(first) > now) return undefined;
    first.hurriedAt = now;
    return this.#take(this.#backoff, "backoff");
  }

  #hurriesAt({ isError, hurriedAt }: Entry): number {
    return this.#canHurry && !isError ? hurriedAt + hurryMs : Infinity;
  }

  #take(heap: Heap<Entry>, place: Place): Entry | undefined {
    return this.#peek(heap, place) && heap.pop();
  }

  /** The first entry that is still valid. */
  #peek(heap: Heap<Entry>, place: Place): Entry | undefined {
    for (let first = heap.peek(); first; first = heap.peek()) {
      if (first.place === place && this.#known.get(first.key) === first) return first;
      heap.pop();
    }
    return undefined;
  }

  #armTimer(): void {
    this.#stopTimer?.();
    const first = this.#peek(this.#backoff, "backoff");
    if (!first) return;
    const now = this.#clock.now();
    const hurriesAt = this.#hurriesAt(first);
    const at = hurriesAt > now ? Math.min(first.until, hurriesAt) : first.until;
    this.#stopTimer = this.#clock.after(Math.max(at - now, 0), () => this.#flushBackoff());
  }

  #flushBackoff(): void {
    const now = this.#clock.now();
    for (;;) {
      const first = this.#peek(this.#backoff, "backoff");
      if (!first || first.until > now) break;
      this.#backoff.pop();
      this.#activate(first);
    }
    this.#armTimer();
    this.#wake?.();
  }

  #sweep(): void {
    this.#stopSweep = undefined;
    const tooOld = this.#clock.now() - maxUnschedulableMs;
    for (const entry of [...this.#unschedulable]) if (entry.queuedAt < tooOld) this.#retry(entry);
    if (this.#unschedulable.size > 0) this.#stopSweep = this.#clock.after(sweepMs, () => this.#sweep());
  }
}

/** A pod hurries once in this time. Pods that wake each other, such as a group that does not fit, would never stop. */
const hurryMs = 100;

type Test = (pod: QueuedPod) => boolean;
const everyPod: Test = () => true;

function mayHelp(hints: RetryHints, pod: Pod, change: ClusterChange): boolean {
  if (change.kind === "Node") return hints.node?.(pod, change) ?? false;
  if (change.kind === "Pod") {
    const roomHelps = change.freesRoom && (hints.pod?.(pod, change) ?? false);
    return roomHelps || (hints.otherPod?.(pod, change) ?? false);
  }
  const { resource, change: what } = change;
  return hints.objects?.some((one) => one.resource === resource && one.mayHelp(pod, what)) ?? false;
}

const hintsBy = (plugins: readonly SchedulerPlugin[]): ReadonlyMap<string, RetryHints> =>
  new Map(plugins.flatMap(({ name, retryOn }) => (retryOn ? [[name, retryOn]] : [])));

const schedulerOf = ({ spec }: Pod): string => spec.schedulerName || "default-scheduler";

const kindsIn = ({ node, pod, otherPod, objects = [] }: RetryHints): string[] => [
  ...(node ? ["Node"] : []),
  ...((pod ?? otherPod) ? ["Pod"] : []),
  ...objects.map(({ resource }) => resource.kind),
];

/** More tolerations, smaller requests, other labels: any change that is relevant to scheduling may help. */
const isRelevantChange = (before: Pod, after: Pod): boolean =>
  !equal(before.spec, after.spec) || !equal(before.metadata.labels, after.metadata.labels);
