/** Splits the CPU time of one create: a server in this process, without sockets and disk, one create after another. */
import { Pod } from "#api/core/pod.ts";
import { type Hop } from "#trace/hop.ts";
import { createPod, openServer } from "./lib/in-process.ts";

/** Microseconds per create. */
export interface CreateSplit {
  /** Sockets, TLS and HTTP/2 in both directions, and wake-ups: the rest of the server's CPU time. */
  readonly receive: number;
  /** Parse, check against the schema, set defaults, record field owners. */
  readonly decode: number;
  /** Authenticate, authorise, mutate, validate, admit. */
  readonly stages: number;
  /** Encode, commit, update caches and watchers; includes the thread that writes to the disk. */
  readonly persist: number;
  readonly respond: number;
}

export interface ThreadTimes {
  /** All threads, in microseconds per create. */
  readonly total: number;
  /** The thread that writes to the disk. */
  readonly disk: number;
}

const warmUp = 3000;
const measured = 3000;

export async function splitCreate({ total, disk }: ThreadTimes): Promise<CreateSplit> {
  await using opened = await openServer();
  const { api } = opened;
  for (let n = 0; n < warmUp; n++) await createPod(api, `warm-${n}`);
  const start = performance.now();
  for (let n = 0; n < measured; n++) await createPod(api, `pod-${n}`);
  const wholeUs = ((performance.now() - start) * 1000) / measured;

  const steps = sumSteps(api.recorder.all());
  const persist = steps.persist + disk;
  const respond = wholeUs - steps.decode - steps.stages - steps.persist;
  return { receive: total - disk - wholeUs, decode: steps.decode, stages: steps.stages, persist, respond };
}

/** The recorder keeps every write with its steps in order. A write's first `schema` step is the decoding. */
function sumSteps(hops: Iterable<Hop>): Pick<CreateSplit, "decode" | "stages" | "persist"> {
  const sums = { decode: 0, stages: 0, persist: 0 };
  let isMeasured = false;
  let isDecoded = false;
  for (const { hop, object, durationMs } of hops) {
    if (hop === "client") {
      isMeasured = object?.resource === Pod.plural && object.name.startsWith("pod-");
      isDecoded = false;
    } else if (isMeasured) {
      const isDecode: boolean = hop === "schema" && !isDecoded;
      isDecoded ||= isDecode;
      const part = isDecode ? "decode" : hop === "persist" || hop === "broadcast" ? "persist" : "stages";
      sums[part] += (durationMs * 1000) / measured;
    }
  }
  return sums;
}
