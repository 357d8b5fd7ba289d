import type { Duplex } from "node:stream";
import type { ContainerConfig, ExecResult, PodIdentity, SandboxConfig } from "#kubelet/runtime/runtime.ts";
import type { Clock } from "#lib/async/clock.ts";
import {
  type CommandCall,
  defaultEnding,
  type Ending,
  type SimulatedUsage,
  type SimulationDelays,
  type SimulationHooks,
} from "../simulation.ts";
import { type Behaviour, behaviourOf, commandAnswer, type LogEntry, type PodRule } from "./behaviour.ts";
import { connectAnswer, connectionRefused } from "./port-answer.ts";

export interface ProgramOptions {
  readonly clock: Clock;
  readonly delays?: Partial<SimulationDelays> | undefined;
  readonly hooks?: SimulationHooks | undefined;
  /** How pods behave; their annotations come first. */
  readonly rules?: readonly PodRule[] | undefined;
  /** Whether a pod says that it listens on a port; by default none does. */
  declaresPort?(pod: PodIdentity, port: number): boolean;
}

/** A container that runs on a simulated node. */
export interface Program {
  readonly config: ContainerConfig;
  readonly sandbox: SandboxConfig;
}

/** Decides what simulated programs do: hooks first, then the annotations of the pod, then rules, then defaults. */
export class Programs {
  readonly #options: ProgramOptions;
  readonly #hooks: SimulationHooks;
  readonly #rules: readonly PodRule[];
  readonly delays: SimulationDelays;
  /** Neither rules nor a container change, and its usage is asked for again and again. */
  readonly #behaviours = new WeakMap<ContainerConfig, Behaviour>();

  constructor(options: ProgramOptions) {
    this.#options = options;
    this.#hooks = options.hooks ?? {};
    this.#rules = options.rules ?? [];
    this.delays = { sandboxMs: 0, pullMs: 0, startMs: 0, stopMs: 0, ...options.delays };
  }

  /** How long a step of this pod takes. */
  delayOf(step: keyof SimulationDelays, sandbox: SandboxConfig): number {
    return behaviourOf(this.#rules, sandbox).delays?.[step] ?? this.delays[step];
  }

  async beforeSandbox(sandbox: SandboxConfig): Promise<void> {
    const { fail } = behaviourOf(this.#rules, sandbox);
    if (fail?.sandbox !== undefined) throw new Error(fail.sandbox);
    await this.#hooks.runSandbox?.(sandbox);
  }

  async beforeStart(program: Program): Promise<void> {
    const { fail } = this.#of(program);
    if (fail?.start !== undefined) throw new Error(fail.start);
    await this.#hooks.startContainer?.(program.config, program.sandbox);
  }

  async beforePull(image: string): Promise<void> {
    await this.#hooks.pullImage?.(image);
  }

  endingOf(program: Program): Ending | undefined | Promise<Ending | undefined> {
    const { config, sandbox } = program;
    const otherwise = (): Ending | undefined => (config.isInit ? undefined : this.#of(program).exit);
    const ending = this.#hooks.ending?.(config, sandbox);
    if (ending instanceof Promise) return ending.then((one) => one ?? otherwise() ?? defaultEnding(config));
    return ending ?? otherwise() ?? defaultEnding(config);
  }

  usageOf(program: Program): SimulatedUsage | undefined {
    return this.#hooks.usage?.(program.config, program.sandbox) ?? this.#of(program).usage;
  }

  logOf(program: Program): readonly LogEntry[] {
    return this.#hooks.logs?.(program.config, program.sandbox) ?? this.#of(program).logs ?? [];
  }

  /** The answer to a command; undefined if nothing says what it does. */
  async run(program: Program, command: readonly string[], call: CommandCall): Promise<ExecResult | undefined> {
    const hooked = await this.#hooks.exec?.(program.config, command, call);
    const answer = hooked ?? commandAnswer(this.#of(program), command);
    if (!answer) return undefined;
    const { stdout = "", stderr = "", exitCode = 0 } = answer;
    const { delayMs = 0 } = "delayMs" in answer ? answer : {};
    if (delayMs > 0) await this.#options.clock.sleep(delayMs, call.signal);
    return { stdout: bytesOf(stdout), stderr: bytesOf(stderr), exitCode };
  }

  /** A connection to a port of a pod. A port that the pod declares answers with the pod's name by default. */
  async connect(sandbox: SandboxConfig, port: number): Promise<Duplex> {
    const { pod } = sandbox;
    const hooked = await this.#hooks.connect?.(sandbox, port);
    if (typeof hooked === "string") return connectAnswer({ body: hooked });
    if (hooked) return hooked;
    const isDeclared = this.#options.declaresPort?.(pod, port) ?? false;
    const { ports = [] } = behaviourOf(this.#rules, sandbox);
    const answer = ports.find((one) => (one.port === undefined ? isDeclared : one.port === port));
    if (!answer && !isDeclared) throw connectionRefused(pod.name, port);
    return connectAnswer(answer ?? { body: `${pod.name}\n` });
  }

  #of({ config, sandbox }: Program): Behaviour {
    const known = this.#behaviours.get(config) ?? behaviourOf(this.#rules, sandbox, config);
    this.#behaviours.set(config, known);
    return known;
  }
}

const bytesOf = (data: string | Uint8Array): Uint8Array => (typeof data === "string" ? Buffer.from(data) : data);
