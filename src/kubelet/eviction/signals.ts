/** Resources of a node that can run out. */
export const signals = [
  "memory.available",
  "allocatableMemory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "containerfs.available",
  "containerfs.inodesFree",
  "pid.available",
] as const;
export type Signal = (typeof signals)[number];
export const isSignal = (text: string): text is Signal => signals.some((one) => one === text);

/** How much of a resource is left at one moment. */
export interface Observation {
  readonly available: number;
  readonly capacity: number;
}
/** A signal that could not be measured is absent. */
export type Observations = ReadonlyMap<Signal, Observation>;

export const pressures = ["MemoryPressure", "DiskPressure", "PIDPressure"] as const;
/** A condition of the node. */
export type Pressure = (typeof pressures)[number];

/** What eviction frees, with upstream's names in messages. */
export type StarvedResource = "memory" | "ephemeral-storage" | "inodes" | "pids";

export const pressureOf = (signal: Signal): Pressure =>
  isMemory(signal) ? "MemoryPressure" : signal === "pid.available" ? "PIDPressure" : "DiskPressure";

export function resourceOf(signal: Signal): StarvedResource {
  if (isMemory(signal)) return "memory";
  if (signal === "pid.available") return "pids";
  return signal.endsWith("inodesFree") ? "inodes" : "ephemeral-storage";
}

export const isMemory = (signal: Signal): boolean =>
  signal === "memory.available" || signal === "allocatableMemory.available";

/** Bytes are shown in binary units, numbers of files and processes in decimal ones. */
export const formatOf = (signal: Signal): "binary" | "decimal" => {
  const resource = resourceOf(signal);
  return resource === "memory" || resource === "ephemeral-storage" ? "binary" : "decimal";
};
