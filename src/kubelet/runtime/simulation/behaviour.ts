import type { ContainerConfig, SandboxConfig } from "#kubelet/runtime/runtime.ts";
import type { Ending, SimulatedUsage, SimulationDelays } from "../simulation.ts";
import { annotatedBehaviour } from "./annotations.ts";

/** What the programs of simulated pods do, apart from what hooks decide. */
export interface Behaviour {
  /** How long the steps of these pods take. */
  readonly delays?: Partial<SimulationDelays>;
  /** Why the pod gets no sandbox, or why its programs do not start. */
  readonly fail?: { readonly sandbox?: string; readonly start?: string };
  /** When and how its programs end by themselves. */
  readonly exit?: Ending;
  readonly logs?: readonly LogEntry[];
  /** Answers to commands: the first that fits. */
  readonly exec?: readonly CommandAnswer[];
  /** Answers on ports: the first that fits. */
  readonly ports?: readonly PortAnswer[];
  readonly usage?: SimulatedUsage;
  /** Whether its probes succeed. */
  readonly probes?: boolean;
}

/** A line that a program prints. */
export interface LogEntry {
  readonly text: string;
  /** How long after its start; at once by default. */
  readonly afterMs?: number;
  /** It prints the line again and again. */
  readonly everyMs?: number;
  readonly stream?: "stdout" | "stderr";
}

/** The answer to commands. */
export interface CommandAnswer {
  /** The command and its arguments; every command by default. */
  readonly command?: readonly string[];
  readonly stdout?: string | Uint8Array;
  readonly stderr?: string | Uint8Array;
  readonly exitCode?: number;
  readonly delayMs?: number;
}

/** What a port answers: an HTTP response, or whatever the target says. */
export interface PortAnswer {
  /** Every port that the pod declares by default. */
  readonly port?: number;
  readonly status?: number;
  readonly body?: string;
  /** Connections are passed on to this address of the machine that runs the simulation. */
  readonly target?: { readonly host: string; readonly port: number };
}

/** Which pods behave in a certain way: those that fit everything that is given. */
export interface PodRule extends Behaviour {
  readonly namespace?: string;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Only this container of them. */
  readonly container?: string;
}

/**
 * What a container does; without a container, what its pod does. The annotations of the pod come first, then the rules in
 * their order. The first that says something about a point decides it.
 */
export function behaviourOf(
  rules: readonly PodRule[],
  sandbox: Pick<SandboxConfig, "pod" | "labels" | "annotations">,
  container?: Pick<ContainerConfig, "name">,
): Behaviour {
  const own = annotatedBehaviour(sandbox.annotations);
  if (rules.length === 0) return own;
  const fitting = rules.filter((rule) => fits(rule, sandbox, container?.name));
  return Object.assign({}, ...fitting.toReversed(), own);
}

function fits(
  { namespace, name, labels = {}, container }: PodRule,
  { pod, labels: own }: Pick<SandboxConfig, "pod" | "labels">,
  of: string | undefined,
): boolean {
  if (namespace !== undefined && namespace !== pod.namespace) return false;
  if (name !== undefined && name !== pod.name) return false;
  if (container !== undefined && container !== of) return false;
  return Object.entries(labels).every(([key, value]) => own[key] === value);
}

/** The answer to a command, if there is one. */
export const commandAnswer = ({ exec = [] }: Behaviour, command: readonly string[]): CommandAnswer | undefined =>
  exec.find((one) => !one.command || isSame(one.command, command));

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((word, index) => word === other[index]);
