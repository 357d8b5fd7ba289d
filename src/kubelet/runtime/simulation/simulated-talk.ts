import type { Agent } from "node:http";
import type {
  ContainerStatus,
  ExecRequest,
  LogOptions,
  SandboxConfig,
  StreamRequest,
} from "#kubelet/runtime/runtime.ts";
import type { Clock } from "#lib/async/clock.ts";
import { type CommandStreams, serveCommand } from "./command-stream.ts";
import { servePorts } from "./port-stream.ts";
import type { Program, Programs } from "./programs.ts";
import { readSimulatedLog, type SimulatedLog } from "./simulated-log.ts";
import { SimulatedStreams } from "./simulated-streams.ts";

/** Holds the newest status of a container. */
export interface Running {
  readonly status: ContainerStatus;
  /** Fires when it ends. Made by the first one who waits for that. */
  over?: AbortController;
}

/** What users of simulated programs see and say: logs, commands, attached terminals and forwarded ports. */
export class SimulatedTalk {
  readonly #programs: Programs;
  readonly #clock: Clock;
  readonly #streams = new SimulatedStreams();

  constructor(programs: Programs, clock: Clock) {
    this.#programs = programs;
    this.#clock = clock;
  }

  get agent(): Agent {
    return this.#streams.agent;
  }

  execUrl(program: Program, wanted: ExecRequest): string {
    const clock = this.#clock;
    return this.#streams.add((connection) =>
      serveCommand(connection, { wanted, clock }, (streams) => this.#run(program, wanted, streams)),
    );
  }

  async #run(program: Program, { command, tty }: ExecRequest, streams: CommandStreams): Promise<number> {
    const { sandbox, config } = program;
    const { stdin, signal } = streams;
    const write = (stream: "stdout" | "stderr", text: string) => streams.write(stream, Buffer.from(text));
    const result = await this.#programs.run(program, command, { sandbox, tty, stdin, signal, write });
    if (!result) {
      await write("stderr", noAnswer(sandbox, config.name));
      return cannotRun;
    }
    await streams.write("stdout", result.stdout);
    await streams.write("stderr", result.stderr);
    return result.exitCode;
  }

  /** Shows what the program prints from now on, until it ends. What is typed goes nowhere. */
  attachUrl(program: Program, running: Running, wanted: StreamRequest): string {
    const clock = this.#clock;
    return this.#streams.add((connection) =>
      serveCommand(connection, { wanted, clock }, async (streams) => {
        const log = this.#logOf(program, running);
        const fromMs = clock.now() + 1;
        running.over ??= new AbortController();
        const how = { sinceMs: fromMs, followUntil: running.over.signal, signal: streams.signal };
        for await (const text of readSimulatedLog(log, how)) await streams.write("stdout", text);
        return running.status.exitCode;
      }),
    );
  }

  portForwardUrl(sandbox: SandboxConfig, ports: readonly number[]): string {
    const clock = this.#clock;
    return this.#streams.add((connection) =>
      servePorts(connection, { ports, clock }, (port) => this.#programs.connect(sandbox, port)),
    );
  }

  readLog(program: Program, running: Running, options: LogOptions): AsyncIterable<Uint8Array> {
    return readSimulatedLog(this.#logOf(program, running), options);
  }

  #logOf(program: Program, running: Running): SimulatedLog {
    return { entries: this.#programs.logOf(program), clock: this.#clock, lifetime: () => running.status };
  }
}

/** The exit code of a shell for a command that it cannot run. */
const cannotRun = 126;

const noAnswer = ({ pod }: SandboxConfig, container: string): string =>
  `container ${container} of pod ${pod.namespace}/${pod.name} is simulated, and nothing says what this command ` +
  "prints: set the hook exec, the annotation simulated.orlop.dev/exec-output, or exec in the file of the nodes\n";
