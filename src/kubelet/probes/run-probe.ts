import type { LifecycleHandler, Probe } from "#api/core/container/probe.ts";
import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import type { IntOrString } from "#api/meta/int-or-string.ts";
import type { ContainerRuntime } from "#kubelet/runtime/runtime.ts";
import { isGrpcError } from "#lib/proto/grpc/status.ts";
import type { CheckLimits, HttpCheck, ProbeNetwork, ProbeOutcome } from "./network.ts";

export interface CheckDeps {
  readonly runtime: ContainerRuntime;
  readonly network: ProbeNetwork;
}
export interface CheckTarget {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly containerId: string;
  readonly podIp: string;
}

/** Runs one check. Rejects if it could not run at all, which says nothing about the container. */
export async function runProbe(
  deps: CheckDeps,
  target: CheckTarget,
  probe: Probe,
  limits: CheckLimits,
): Promise<ProbeOutcome> {
  const { container, podIp } = target;
  const { exec, httpGet, tcpSocket, grpc } = probe;
  if (exec) return await probeExec(deps, target, exec.command ?? [], limits);
  if (httpGet) return await deps.network.http(httpCheck(httpGet, target, "probe"), limits);
  if (tcpSocket) {
    const port = resolvePort(tcpSocket.port, container);
    return await deps.network.tcp({ host: tcpSocket.host || podIp, port }, limits);
  }
  if (grpc) return await deps.network.grpc({ host: podIp, port: grpc.port, service: grpc.service }, limits);
  throw new Error(`missing probe handler for ${target.pod.metadata.namespace}:${target.pod.metadata.name}`);
}

const maxOutput = 10 * 1024;

async function probeExec(
  { runtime }: CheckDeps,
  { container, containerId }: CheckTarget,
  command: readonly string[],
  { timeoutMs, signal }: CheckLimits,
): Promise<ProbeOutcome> {
  const expanded = command.map((part) => expandPlain(part, container));
  try {
    const { exitCode, stdout, stderr } = await runtime.execSync(containerId, expanded, { timeoutMs, signal });
    const output = Buffer.concat([stdout, stderr]).subarray(0, maxOutput).toString();
    return { result: exitCode === 0 ? "success" : "failure", output };
  } catch (error) {
    signal.throwIfAborted();
    if (!isGrpcError(error, "DEADLINE_EXCEEDED")) throw error;
    return {
      result: "failure",
      output: `command timed out: "${expanded.join(" ")}" timed out after ${timeoutMs / 1000}s`,
    };
  }
}

/** Commands of checks can use the variables that the container declares with plain values. */
function expandPlain(text: string, { env = [] }: AnyContainer): string {
  if (!text.includes("$(")) return text;
  const values = new Map(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const])));
  return text.replace(/\$\(([^()]*)\)/g, (whole, name: string) => values.get(name) ?? whole);
}

type HttpGet = NonNullable<LifecycleHandler["httpGet"]>;

export function httpCheck(get: HttpGet, { container, podIp }: CheckTarget, purpose: HttpCheck["purpose"]): HttpCheck {
  const { scheme, path, host, httpHeaders = [] } = get;
  const port = resolvePort(get.port, container);
  return { scheme, host: host || podIp, port, path, headers: httpHeaders, purpose };
}

/** A number, or the name of one of the container's ports. */
export function resolvePort(port: IntOrString, { ports = [] }: AnyContainer): number {
  const found = typeof port === "number" ? port : ports.find(({ name }) => name === port)?.containerPort;
  const number = found ?? Number(port);
  if (number > 0 && number < 65_536) return number;
  if (typeof port === "string" && !/^\d+$/.test(port)) throw new Error(`couldn't find port: ${port}`);
  throw new Error(`invalid port number: ${port}`);
}
