import type { Duplex } from "node:stream";
import type { ContainerConfig, SandboxConfig } from "./runtime.ts";
import type { CommandAnswer, LogEntry } from "./simulation/behaviour.ts";

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
  /**
   * The answer to a command of a user, a probe or a lifecycle hook. Without an answer a probe and a lifecycle hook succeed,
   * and a user is told that there is none.
   */
  exec?(
    container: ContainerConfig,
    command: readonly string[],
    call: CommandCall,
  ): MaybeLater<Omit<CommandAnswer, "command"> | undefined>;
  /** The lines that the program prints; none by default. */
  logs?(container: ContainerConfig, sandbox: SandboxConfig): readonly LogEntry[] | undefined;
  /** Connects to a port of the pod. A text is the body of an HTTP response. An error refuses the connection. */
  connect?(sandbox: SandboxConfig, port: number): MaybeLater<Duplex | string | undefined>;
  /**
   * How the program ends. With a promise, it runs until the promise resolves. By default an init container ends with 0
   * at once, and any other runs until it is stopped, unless the pod's annotations say otherwise.
   */
  ending?(container: ContainerConfig, sandbox: SandboxConfig): MaybeLater<Ending | undefined>;
  /** What a running container uses now; nothing by default. It has used that since it was last asked. */
  usage?(container: ContainerConfig, sandbox: SandboxConfig): SimulatedUsage;
}
/** How a command was called. */
export interface CommandCall {
  readonly sandbox: SandboxConfig;
  readonly tty: boolean;
  /** What the caller types; empty if the command has no input. */
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Fires when the caller has gone. */
  readonly signal?: AbortSignal | undefined;
  /** Prints at once, while the command goes on. */
  write(stream: "stdout" | "stderr", text: string): Promise<void>;
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

/** An init container ends with 0 at once, and any other runs until it is stopped. */
export const defaultEnding = ({ isInit }: ContainerConfig): Ending | undefined =>
  isInit ? { afterMs: 0, exitCode: 0 } : undefined;
