/** Counters, gauges and histograms in the text form that Prometheus reads. */
export class Metrics {
  readonly #families = new Map<string, Family>();

  counter(name: string, help: string, labels: readonly string[] = []): Counter {
    const family = this.#family(name, help, { type: "counter", labels });
    const add = (key: string, by: number) => void family.values.set(key, (family.values.get(key) ?? 0) + by);
    return {
      add: (values, by = 1) => add(keyOf(values), by),
      of(values) {
        const key = keyOf(values);
        return () => add(key, 1);
      },
    };
  }

  /** The value is read at every scrape. */
  gauge(name: string, help: string, read: () => number): void {
    this.#family(name, help, { type: "gauge", labels: [] }).read = () => [[[], read()]];
  }

  /** Values that are kept elsewhere: they are read at every scrape, with the values of their labels. */
  read(name: string, help: string, { type, labels, values }: ReadFamily): void {
    this.#family(name, help, { type, labels }).read = values;
  }

  histogram(
    name: string,
    help: string,
    { labels, buckets }: { labels: readonly string[]; buckets: readonly number[] },
  ): Histogram {
    const family = this.#family(name, help, { type: "histogram", labels });
    family.buckets = buckets;
    const countsOf = (values: readonly string[]): Counts => {
      const key = keyOf(values);
      let counts = family.histograms.get(key);
      if (!counts) {
        counts = { buckets: new Float64Array(buckets.length), sum: 0, count: 0 };
        family.histograms.set(key, counts);
      }
      return counts;
    };
    const add = (counts: Counts, value: number): void => {
      const at = buckets.findIndex((limit) => value <= limit);
      if (at >= 0) counts.buckets[at] = (counts.buckets[at] ?? 0) + 1;
      counts.sum += value;
      counts.count++;
    };
    return {
      observe: (values, value) => add(countsOf(values), value),
      of(values) {
        let counts: Counts | undefined;
        return (value) => {
          counts ??= countsOf(values);
          add(counts, value);
        };
      },
    };
  }

  /** Histograms that are kept elsewhere, and read at every scrape. */
  readHistograms(name: string, help: string, { labels, buckets, values }: ReadHistograms): void {
    const family = this.#family(name, help, { type: "histogram", labels });
    family.buckets = buckets;
    family.readHistograms = values;
  }

  render(): string {
    return [...this.#families.values()].map(renderFamily).join("");
  }

  #family(name: string, help: string, { type, labels }: Pick<Family, "type" | "labels">): Family {
    const known = this.#families.get(name);
    if (known) return known;
    const family: Family = {
      name,
      help,
      type,
      labels,
      values: new Map(),
      histograms: new Map(),
      buckets: [],
      read: undefined,
      readHistograms: undefined,
    };
    this.#families.set(name, family);
    return family;
  }
}

export interface Counter {
  add(labels: readonly string[], by?: number): void;
  /** The same for fixed labels, by one. */
  of(labels: readonly string[]): () => void;
}
export interface Histogram {
  observe(labels: readonly string[], value: number): void;
  /** The same for fixed labels, which are then looked up only once. */
  of(labels: readonly string[]): (value: number) => void;
}
/** The buckets do not contain each other. */
export interface Counts {
  readonly buckets: Float64Array;
  sum: number;
  count: number;
}

export interface ReadFamily {
  readonly type: "counter" | "gauge";
  readonly labels: readonly string[];
  values(): Iterable<readonly [labels: readonly string[], value: number]>;
}

export interface ReadHistograms {
  readonly labels: readonly string[];
  readonly buckets: readonly number[];
  values(): Iterable<readonly [labels: readonly string[], counts: Counts]>;
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly values: Map<string, number>;
  readonly histograms: Map<string, Counts>;
  buckets: readonly number[];
  read: ReadFamily["values"] | undefined;
  readHistograms: ReadHistograms["values"] | undefined;
}

const separator = "\u0000";
function keyOf(values: readonly string[]): string {
  let key = "";
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? "";
    // A value that contains the separator must not become two.
    const part = value.includes(separator) ? value.replaceAll(separator, "\ufffd") : value;
    key = at === 0 ? part : key + separator + part;
  }
  return key;
}

function renderFamily(family: Family): string {
  const { name, help, type, labels } = family;
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
  for (const [values, value] of family.read?.() ?? [])
    lines.push(`${name}${labelText(labels, keyOf(values))} ${value}`);
  for (const [key, value] of family.values) lines.push(`${name}${labelText(labels, key)} ${value}`);
  for (const [values, counts] of family.readHistograms?.() ?? [])
    lines.push(...histogramLines(family, keyOf(values), counts));
  for (const [key, counts] of family.histograms) lines.push(...histogramLines(family, key, counts));
  return `${lines.join("\n")}\n`;
}

function histogramLines({ name, labels, buckets: limits }: Family, key: string, counts: Counts): string[] {
  const { buckets, sum, count } = counts;
  let total = 0;
  const lines = limits.map((limit, at) => {
    total += buckets[at] ?? 0;
    return `${name}_bucket${labelText(labels, key, `le="${limit}"`)} ${total}`;
  });
  lines.push(`${name}_bucket${labelText(labels, key, 'le="+Inf"')} ${count}`);
  lines.push(`${name}_sum${labelText(labels, key)} ${sum}`, `${name}_count${labelText(labels, key)} ${count}`);
  return lines;
}

function labelText(labels: readonly string[], key: string, extra = ""): string {
  const values = key.split(separator);
  const parts = labels.map((label, at) => `${label}="${escapeLabel(values[at] ?? "")}"`);
  if (extra) parts.push(extra);
  return parts.length > 0 ? `{${parts.join(",")}}` : "";
}

/** The text format has three escapes, and takes all other characters literally. */
export const escapeLabel = (value: string): string =>
  /[\\"\n]/.test(value) ? value.replace(/[\\"\n]/g, (char) => (char === "\n" ? "\\n" : `\\${char}`)) : value;
