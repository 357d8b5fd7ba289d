/** What a container or a node had used at one moment. */
export interface UsagePoint {
  readonly atMs: number;
  /** When it was started; 0 if that is unknown. */
  readonly startedMs: number;
  /** Since it was started. */
  readonly cpuNanoSeconds: number;
  readonly memoryBytes: number;
}

/** What one node reports: itself, and its pods by `namespace/name`, each with its containers by name. */
export interface NodeReport {
  readonly node: UsagePoint | undefined;
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, UsagePoint>>;
}

/** The containers of a pod about which the node may report; undefined if the pod is not on the node. */
export type ContainersOf = (namespace: string, pod: string) => ReadonlySet<string> | undefined;

/** About ten times what the busiest node reports. */
const maxBytes = 8 << 20;
/** Names have at most 253 characters, so no line that we want is as long. */
const maxLineChars = 4096;

/**
 * Reads the body of a kubelet's `/metrics/resource`, piece by piece. What concerns pods of other nodes, or what cannot be
 * a measurement, is left out: a node that lies harms only itself.
 */
export async function readResourceMetrics(
  body: AsyncIterable<Uint8Array | string>,
  containersOf: ContainersOf,
): Promise<NodeReport> {
  const reader = new ReportReader(containersOf);
  const decoder = new TextDecoder();
  let rest = "";
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > maxBytes) throw new Error(`the node reports more than ${maxBytes} bytes of metrics`);
    const text = rest + (typeof piece === "string" ? piece : decoder.decode(piece, { stream: true }));
    const end = text.lastIndexOf("\n") + 1;
    rest = text.slice(end);
    if (rest.length > maxLineChars) throw new Error(`the node reports a line of more than ${maxLineChars} characters`);
    reader.take(text.slice(0, end));
  }
  reader.take(rest);
  return reader.report();
}

type Part = "cpuNanoSeconds" | "memoryBytes" | "startedMs";
type Sample = { atMs: number; startedMs: number; cpuNanoSeconds?: number; memoryBytes?: number };

interface Family {
  readonly of: "node" | "container";
  readonly part: Part;
  /** From the unit of the metric to ours. */
  readonly factor: number;
}
const families = new Map<string, Family>([
  ["container_cpu_usage_seconds_total", { of: "container", part: "cpuNanoSeconds", factor: 1e9 }],
  ["container_memory_working_set_bytes", { of: "container", part: "memoryBytes", factor: 1 }],
  ["container_start_time_seconds", { of: "container", part: "startedMs", factor: 1000 }],
  ["node_cpu_usage_seconds_total", { of: "node", part: "cpuNanoSeconds", factor: 1e9 }],
  ["node_memory_working_set_bytes", { of: "node", part: "memoryBytes", factor: 1 }],
]);

interface ReportedPod {
  readonly names: ReadonlySet<string>;
  readonly containers: Map<string, Sample>;
}

class ReportReader {
  readonly #containersOf: ContainersOf;
  readonly #node: Sample = { atMs: 0, startedMs: 0 };
  readonly #pods = new Map<string, ReportedPod | undefined>();
  /** By the text of the labels, which is the same in each family. undefined: it is not wanted. */
  readonly #containers = new Map<string, Sample | undefined>();

  constructor(containersOf: ContainersOf) {
    this.#containersOf = containersOf;
  }

  take(lines: string): void {
    for (const line of lines.split("\n")) {
      if (line && line.length <= maxLineChars && !line.startsWith("#")) this.#takeLine(line);
    }
  }

  report(): NodeReport {
    const pods = new Map<string, ReadonlyMap<string, UsagePoint>>();
    for (const [key, pod] of this.#pods) {
      if (!pod) continue;
      const points = new Map<string, UsagePoint>();
      for (const [name, sample] of pod.containers) {
        const point = pointOf(sample);
        if (point) points.set(name, point);
      }
      if (points.size > 0) pods.set(key, points);
    }
    return { node: pointOf(this.#node), pods };
  }

  #takeLine(line: string): void {
    const brace = line.indexOf("{");
    const labelsEnd = brace < 0 ? -1 : line.lastIndexOf("}");
    const nameEnd = brace < 0 ? line.indexOf(" ") : brace;
    const family = families.get(line.slice(0, nameEnd));
    if (!family || labelsEnd < brace) return;
    const numbers = line.slice(labelsEnd < 0 ? nameEnd : labelsEnd + 1).trim();
    const gap = numbers.indexOf(" ");
    const value = Number(gap < 0 ? numbers || Number.NaN : numbers.slice(0, gap));
    const atMs = gap < 0 ? 0 : Number(numbers.slice(gap + 1));
    const amount = value * family.factor;
    if (!(amount >= 0 && amount <= maxAmount && atMs >= 0 && atMs <= lastMs)) return;
    const labels = brace < 0 ? "" : line.slice(brace + 1, labelsEnd);
    const target = family.of === "node" ? this.#nodeWith(labels) : this.#containerWith(labels);
    if (!target) return;
    target[family.part] = amount;
    // The time of the CPU counts, because rates are computed from it.
    if (family.part === "cpuNanoSeconds") target.atMs = Math.floor(atMs);
  }

  #nodeWith(labels: string): Sample | undefined {
    return labelsOf(labels) && this.#node;
  }

  #containerWith(labels: string): Sample | undefined {
    if (this.#containers.has(labels)) return this.#containers.get(labels);
    const values = labelsOf(labels);
    const target = values && this.#container(values);
    this.#containers.set(labels, target);
    return target;
  }

  #container({ namespace = "", pod: name = "", container = "" }: Readonly<Record<string, string>>) {
    const key = `${namespace}/${name}`;
    if (!this.#pods.has(key)) {
      const names = this.#containersOf(namespace, name);
      this.#pods.set(key, names && { names, containers: new Map() });
    }
    const pod = this.#pods.get(key);
    if (!pod?.names.has(container)) return undefined;
    const known = pod.containers.get(container) ?? { atMs: 0, startedMs: 0 };
    pod.containers.set(container, known);
    return known;
  }
}

/** What an int64 can hold, about: nanoseconds of all cores for years, and more memory than there is. */
const maxAmount = 2 ** 63;
/** The end of the year 9999. */
const lastMs = 253_402_300_799_999;

/** Undefined if they are not what a kubelet writes. Names of Kubernetes need no escapes, so there are none. */
function labelsOf(text: string): Record<string, string> | undefined {
  const values: Record<string, string> = {};
  const label = /([a-z_]\w*)="([^"\\]*)",?/y;
  let end = 0;
  for (let match = label.exec(text); match; match = label.exec(text)) {
    const [, name = "", value = ""] = match;
    if (name === "namespace" || name === "pod" || name === "container") values[name] = value;
    end = label.lastIndex;
  }
  return end === text.length ? values : undefined;
}

function pointOf({ atMs, startedMs, cpuNanoSeconds, memoryBytes }: Sample): UsagePoint | undefined {
  if (atMs === 0 || cpuNanoSeconds === undefined || memoryBytes === undefined) return undefined;
  return { atMs, startedMs, cpuNanoSeconds, memoryBytes };
}
