import type { ContainerConfig, ExecResult, SandboxConfig } from "./runtime.ts";

/** How a simulated program ends by itself. */
export interface Ending {
  /** `Infinity`: it runs until it is stopped. */
  readonly afterMs: number;
  readonly exitCode: number;
  readonly reason?: string;
  readonly message?: string;
}
type MaybeLater<T> = T | Promise<T>;

/** Lets a test or a scenario intervene. A hook may return a promise. A hook that fails makes the call fail with that error. */
export interface SimulationHooks {
  runSandbox?(sandbox: SandboxConfig): MaybeLater<unknown>;
  startContainer?(container: ContainerConfig, sandbox: SandboxConfig): MaybeLater<unknown>;
  pullImage?(name: string): MaybeLater<unknown>;
  exec?(container: ContainerConfig, command: readonly string[]): MaybeLater<ExecResult>;
  /**
   * How the program ends. With a promise, it runs until the promise resolves. By default an init container ends with 0
   * at once, and any other runs until it is stopped, unless the pod's annotations say otherwise.
   */
  ending?(container: ContainerConfig, sandbox: SandboxConfig): MaybeLater<Ending | undefined>;
  /** What a running container uses now; nothing by default. It has used that since it was last asked. */
  usage?(container: ContainerConfig, sandbox: SandboxConfig): SimulatedUsage;
}
export interface SimulatedUsage {
  /** Thousandths of a core. */
  readonly cpuMillis: number;
  readonly memoryBytes: number;
}
export interface SimulationDelays {
  readonly sandboxMs: number;
  readonly pullMs: number;
  readonly startMs: number;
  readonly stopMs: number;
}

/** Annotations of a pod set how long its programs run and how they end. By default they run forever. */
export const exitAfterAnnotation = "simulated.orlop.dev/exit-after-ms";
export const exitCodeAnnotation = "simulated.orlop.dev/exit-code";

export function defaultEnding({ isInit }: ContainerConfig, { annotations }: SandboxConfig): Ending | undefined {
  if (isInit) return { afterMs: 0, exitCode: 0 };
  const afterMs = Number(annotations[exitAfterAnnotation] ?? Number.NaN);
  if (!(afterMs >= 0)) return undefined;
  return { afterMs, exitCode: Number(annotations[exitCodeAnnotation] ?? 0) || 0 };
}
