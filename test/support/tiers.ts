/**
 * A test's tier is the suffix of its file:
 *
 *     x.test.ts           unit: pure and quick; all of them share a process
 *     x.process.test.ts   starts programs, listens, or changes or measures what a process has only once
 *     x.cluster.test.ts   starts a server or a control plane, in the process or, in test/, as a child; those of one
 *                         component share a process
 *     x.machine.test.ts   needs root, containerd, nft or network namespaces; these run one after the other
 */
export const tiers = ["unit", "process", "cluster", "machine"] as const;
export type Tier = (typeof tiers)[number];

export function tierOf(file: string): Tier {
  const suffix = /\.([^./]+)\.test\.ts$/.exec(file)?.[1];
  if (suffix === undefined) return "unit";
  const tier = toTier(suffix);
  if (tier === "unit") throw new Error(`${file}: a unit test has no suffix`);
  return tier;
}

export function toTier(name: string): Tier {
  const tier = tiers.find((one) => one === name);
  if (!tier) throw new Error(`unknown tier ${name}: choose one of ${tiers.join(", ")}`);
  return tier;
}
