import type { CpuSettings, TopologySettings } from "#kubelet/placement/create-rules.ts";
import { maxNumaNodes } from "#kubelet/placement/numa-mask.ts";

type Options = Readonly<Record<string, string>>;
interface Parsed<T> {
  readonly options: T;
  readonly faults: readonly string[];
}

/** What Go's ParseBool accepts. */
const truths = ["1", "t", "T", "TRUE", "true", "True"];
const lies = ["0", "f", "F", "FALSE", "false", "False"];

const cpuOptions = {
  "full-pcpus-only": "wholeCores",
  "strict-cpu-reservation": "isStrict",
  "prefer-align-cpus-by-uncorecache": "prefersCache",
} as const;
const unstable = ["align-by-socket", "distribute-cpus-across-cores", "distribute-cpus-across-numa"];

/** The options of the CPU manager that are stable upstream. */
export function parseCpuOptions(options: Options): Parsed<Omit<CpuSettings, "reserved">> {
  const faults: string[] = [];
  const isSet = (name: keyof typeof cpuOptions): boolean => truths.includes(options[name] ?? "");
  for (const [name, value] of Object.entries(options)) {
    if (unstable.includes(name))
      faults.push(`CPU Manager Policy option ${JSON.stringify(name)} is not stable, and not supported`);
    else if (!(name in cpuOptions)) faults.push(`unknown CPU Manager Policy option: ${JSON.stringify(name)}`);
    else if (!isBoolean(value)) faults.push(badValue(name, value));
  }
  return {
    options: {
      wholeCores: isSet("full-pcpus-only"),
      isStrict: isSet("strict-cpu-reservation"),
      prefersCache: isSet("prefer-align-cpus-by-uncorecache"),
    },
    faults,
  };
}

const usualMaxNodes = 8;

export function parseTopologyOptions(options: Options): Parsed<Pick<TopologySettings, "prefersClosest" | "maxNodes">> {
  const { "prefer-closest-numa-nodes": closest, "max-allowable-numa-nodes": max, ...rest } = options;
  const faults = Object.keys(rest).map((name) => `unknown Topology Manager Policy option: ${JSON.stringify(name)}`);
  if (closest !== undefined && !isBoolean(closest)) faults.push(badValue("prefer-closest-numa-nodes", closest));
  const maxNodes = max === undefined ? usualMaxNodes : /^\d{1,4}$/.test(max) ? Number(max) : Number.NaN;
  if (!(maxNodes >= usualMaxNodes && maxNodes <= maxNumaNodes)) {
    faults.push(`the value of "max-allowable-numa-nodes" must be from ${usualMaxNodes} to ${maxNumaNodes}`);
  }
  return { options: { prefersClosest: truths.includes(closest ?? ""), maxNodes }, faults };
}

const isBoolean = (value: string): boolean => truths.includes(value) || lies.includes(value);
const badValue = (name: string, value: string): string =>
  `bad value for option ${JSON.stringify(name)}: ${JSON.stringify(value)} is not true or false`;
