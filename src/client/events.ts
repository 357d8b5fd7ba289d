import { Event } from "#api/core/event.ts";
import { type ObjectReference } from "#api/core/references.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { isAlreadyExists, isNotFound, StatusError } from "#api/status.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import { LruMap } from "#lib/data/lru-map.ts";
import { type Log, silentLog } from "#lib/process/log.ts";
import { truncateBytes } from "#lib/text/truncate.ts";
import { currentTrace, type Trace } from "#trace/trace.ts";
import { type Client } from "./client.ts";

/** Reports to users what happened to an object. Never waits and never throws: reporting is not part of the work. */
export interface EventRecorder extends AsyncDisposable {
  /** An event about an object, or about a part of one: `referenceTo(Pod, pod, "spec.containers{web}")`. */
  event(about: ApiObject | ObjectReference, type: "Normal" | "Warning", reason: string, message: string): void;
  /** Resolves once every event so far was written or dropped. */
  flush(): Promise<void>;
}

export interface EventRecorderOptions {
  readonly component: string;
  readonly host?: string;
  readonly clock: Clock;
  readonly log?: Log;
  /** Whether there is more urgent work now. Events then wait for a few seconds. */
  isBusy?(): boolean;
}

/** Refers to an object, which may lack its kind, or to a part of it. */
export function referenceTo(resource: Resource, { metadata }: ApiObject, fieldPath?: string): ObjectReference {
  const reference = referenceOf({ kind: resource.kind, apiVersion: apiVersionOf(resource), metadata });
  return fieldPath ? { ...reference, fieldPath } : reference;
}

/** The maximum length of the queue. More events are dropped: a flood must not fill memory. */
const maxWaiting = 10_000;
/** The maximum number of concurrent writes: one, so as not to slow down other work, and more as the queue grows. */
const maxTogether = 64;
const waitingPerWriter = 200;
/** This many events within the period that differ only in their message are combined. */
const maxSimilar = 10;
const similarForMs = 600_000;
/** An object may have this many events in a burst, then one more per interval. */
const burst = 25;
const refillMs = 300_000;
const rememberedKeys = 4096;
/** Upstream's limit for the note of an event. */
const maxMessageBytes = 1024;
/** How long an event waits for more urgent work, and how often that is looked at. */
const maxUrgentMs = 5000;
const urgentMs = 50;
const maxTries = 12;
/** How many names are tried for an event. */
const maxNames = 20;
const retryMs = 10_000;

interface Sighting {
  readonly about: ObjectReference;
  /** The key of that object. */
  readonly subject: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly atMs: number;
  readonly trace: Trace | undefined;
}

/** The last event written under a key. */
interface Written {
  readonly name: string;
  readonly count: number;
}
interface Similar {
  /** A few, without repetition. A set takes ten times the memory, and nearly all groups have one message. */
  readonly messages: string[];
  lastMs: number;
}
interface Bucket {
  tokens: number;
  atMs: number;
}

export function createEventRecorder(client: Client, options: EventRecorderOptions): EventRecorder {
  return new Recorder(client, options);
}

class Recorder implements EventRecorder {
  readonly #client: Client;
  readonly #options: EventRecorderOptions;
  readonly #log: Log;
  readonly #waiting: Sighting[] = [];
  readonly #written = new LruMap<string, Written>(rememberedKeys);
  readonly #similar = new LruMap<string, Similar>(rememberedKeys);
  readonly #buckets = new LruMap<string, Bucket>(rememberedKeys);
  readonly #stop = new AbortController();
  #writing: Promise<void> | undefined;
  #made = 0;

  constructor(client: Client, options: EventRecorderOptions) {
    this.#client = client;
    this.#options = options;
    this.#log = options.log ?? silentLog;
  }

  event(about: ApiObject | ObjectReference, type: "Normal" | "Warning", reason: string, message: string): void {
    if (this.#stop.signal.aborted) return;
    const reference = "metadata" in about ? referenceOf(about) : about;
    const atMs = this.#options.clock.now();
    const subject = subjectOf(reference);
    if (!this.#hasToken(subject, atMs) || this.#waiting.length >= maxWaiting) {
      this.#log.debug("event dropped", { about: reference, reason });
      return;
    }
    const text = truncateBytes(message, maxMessageBytes);
    this.#waiting.push({
      about: reference,
      subject,
      type,
      reason,
      message: text,
      atMs,
      trace: currentTrace.getStore(),
    });
    this.#writing ??= this.#writeAll();
  }

  async flush(): Promise<void> {
    await this.#writing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the event recorder is closed"));
    await this.#writing;
  }

  /** A token bucket for each object, so that one with too many events does not throttle the others. */
  #hasToken(subject: string, nowMs: number): boolean {
    const bucket = this.#buckets.get(subject) ?? { tokens: burst, atMs: nowMs };
    const tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.atMs) / refillMs);
    const has = tokens >= 1;
    this.#buckets.set(subject, { tokens: has ? tokens - 1 : tokens, atMs: nowMs });
    return has;
  }

  async #writeAll(): Promise<void> {
    // Deferred, so that the caller's own work comes first.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      await this.#untilFree();
      await Promise.all(this.#nextBatch().map((sighting) => this.#writeOne(sighting)));
    }
    this.#writing = undefined;
  }

  async #untilFree(): Promise<void> {
    const { clock, isBusy } = this.#options;
    const { signal } = this.#stop;
    while (isBusy?.() && !signal.aborted && clock.now() - (this.#waiting[0]?.atMs ?? 0) < maxUrgentMs) {
      await clock.sleep(urgentMs, signal).catch(() => undefined);
    }
  }

  /** The next few events, at most one per object, so that those of one object are written in order. */
  #nextBatch(): Sighting[] {
    const most = Math.min(1 + Math.floor(this.#waiting.length / waitingPerWriter), maxTogether);
    const subjects = new Set<string>();
    const batch: Sighting[] = [];
    const later: Sighting[] = [];
    for (const sighting of this.#waiting) {
      if (batch.length >= most) break;
      (subjects.has(sighting.subject) ? later : batch).push(sighting);
      subjects.add(sighting.subject);
    }
    this.#waiting.splice(0, batch.length + later.length, ...later);
    return batch;
  }

  async #writeOne(sighting: Sighting): Promise<void> {
    const write = () => this.#tryToWrite(this.#joined(sighting));
    await (sighting.trace ? currentTrace.run(sighting.trace, write) : currentTrace.exit(write));
  }

  /** Combines too many events that differ only in their message. */
  #joined(sighting: Sighting): Sighting & { readonly key: string } {
    const { about, subject, type, reason, message, atMs } = sighting;
    const group = [subject, about.fieldPath, type, reason].join(" ");
    let similar = this.#similar.get(group);
    if (!similar || atMs - similar.lastMs > similarForMs) similar = { messages: [message], lastMs: atMs };
    else if (!similar.messages.includes(message)) similar.messages.push(message);
    this.#similar.set(group, similar);
    similar.lastMs = atMs;
    if (similar.messages.length < maxSimilar) return { ...sighting, key: `${group} ${message}` };
    // The limit is reached, so only enough messages are kept to detect the next one.
    if (similar.messages.length > maxSimilar) similar.messages.shift();
    return { ...sighting, key: group, message: `(combined from similar events): ${message}` };
  }

  async #tryToWrite(sighting: Sighting & { readonly key: string }): Promise<void> {
    const { signal } = this.#stop;
    for (let tries = 1; !signal.aborted; tries++) {
      try {
        await this.#write(sighting);
        return;
      } catch (error) {
        if (signal.aborted) return;
        // The server would refuse it again.
        const refused = error instanceof StatusError && error.code < 500 && error.code !== 429;
        if (refused || tries >= maxTries) {
          this.#log.warn("event not written", { about: sighting.about, reason: sighting.reason, error });
          return;
        }
        await this.#options.clock.sleep(retryMs, signal).catch(() => undefined);
      }
    }
  }

  /** Increments the count of an existing event, or else writes a new one. */
  async #write(sighting: Sighting & { readonly key: string }): Promise<void> {
    const { key, message, atMs } = sighting;
    const namespace = sighting.about.namespace || "default";
    const { signal } = this.#stop;
    const before = this.#written.get(key);
    if (before) {
      const body = { count: before.count + 1, lastTimestamp: timestamp(atMs), message };
      try {
        await this.#client.patch(Event, { namespace, name: before.name }, { type: "merge", body }, { signal });
        this.#written.set(key, { name: before.name, count: before.count + 1 });
        return;
      } catch (error) {
        // It has expired meanwhile.
        if (!isNotFound(error)) throw error;
      }
    }
    const name = await this.#create(sighting, namespace);
    this.#written.set(key, { name, count: 1 });
  }

  /** Another recorder may have written about an object of the same name at the same moment: its event stays as it is. */
  async #create(sighting: Sighting, namespace: string): Promise<string> {
    for (let tries = 1; ; tries++) {
      const name = this.#newName(sighting);
      try {
        await this.#client.create(Event, this.#eventOf(sighting, { namespace, name }), { signal: this.#stop.signal });
        return name;
      } catch (error) {
        if (!isAlreadyExists(error) || tries >= maxNames) throw error;
      }
    }
  }

  /** The object's name and the time in nanoseconds, made unique in this recorder by a counter. */
  #newName({ about, atMs }: Sighting): string {
    const nanoseconds = BigInt(atMs) * 1_000_000n + BigInt(this.#made++ % 1_000_000);
    return `${about.name ?? ""}.${nanoseconds.toString(16).padStart(16, "0")}`;
  }

  #eventOf({ about, type, reason, message, atMs }: Sighting, metadata: { namespace: string; name: string }) {
    const { component, host } = this.#options;
    const time = timestamp(atMs);
    return {
      metadata,
      involvedObject: about,
      reason,
      message,
      source: { component, ...(host ? { host } : {}) },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
      type,
      reportingComponent: component,
      reportingInstance: host ?? "",
    };
  }
}

const subjectOf = ({ kind, namespace, name, uid, apiVersion }: ObjectReference): string =>
  [kind, namespace, name, uid, apiVersion].join(" ");

function referenceOf({ kind = "", apiVersion = "", metadata }: ApiObject): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return {
    kind,
    apiVersion,
    ...(namespace ? { namespace } : {}),
    ...(name ? { name } : {}),
    ...(uid ? { uid } : {}),
    ...(resourceVersion ? { resourceVersion } : {}),
  };
}
