/** More processors than any machine has. */
const maxCpu = 65_535;

/** The processors of a list as the kernel writes it, `0-1,4`; undefined if it is not such a list. */
export function parseCpuSet(text: string): ReadonlySet<number> | undefined {
  const cpus = new Set<number>();
  for (const part of text.split(",")) {
    const [, from, to = from] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part.trim()) ?? [];
    if (from === undefined || Number(to) < Number(from) || Number(to) > maxCpu) return undefined;
    for (let cpu = Number(from); cpu <= Number(to); cpu++) cpus.add(cpu);
  }
  return cpus;
}

/** The list as the kernel writes it. */
export function renderCpuSet(cpus: Iterable<number>): string {
  const runs: [from: number, to: number][] = [];
  for (const cpu of [...cpus].toSorted((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && cpu <= last[1] + 1) last[1] = cpu;
    else runs.push([cpu, cpu]);
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(",");
}
