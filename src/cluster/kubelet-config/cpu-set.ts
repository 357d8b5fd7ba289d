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
