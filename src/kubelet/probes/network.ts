import type { Clock } from "#lib/async/clock.ts";
import { probeGrpc } from "./grpc.ts";
import { probeHttp } from "./http.ts";
import { probeTcp } from "./tcp.ts";

/** A `warning` counts as success and gives an event. */
export interface ProbeOutcome {
  readonly result: "success" | "warning" | "failure";
  readonly output: string;
  /** The HTTP status, if a server answered. */
  readonly status?: number;
}
export interface ProbeAddress {
  readonly host: string;
  readonly port: number;
}
export interface HttpCheck extends ProbeAddress {
  readonly scheme: "HTTP" | "HTTPS";
  readonly path: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /** `probe` or `lifecycle`: a part of the user agent. */
  readonly purpose: "probe" | "lifecycle";
}
export interface GrpcCheck extends ProbeAddress {
  readonly service: string;
}
export interface CheckLimits {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** How checks reach a pod. They reject only if the signal fires. */
export interface ProbeNetwork {
  http(check: HttpCheck, limits: CheckLimits): Promise<ProbeOutcome>;
  tcp(check: ProbeAddress, limits: CheckLimits): Promise<ProbeOutcome>;
  grpc(check: GrpcCheck, limits: CheckLimits): Promise<ProbeOutcome>;
}

/** No check holds a connection longer than this, whatever its probe says. */
const maxCheckMs = 600_000;
const capped = (limits: CheckLimits): CheckLimits => ({
  ...limits,
  timeoutMs: Math.min(limits.timeoutMs, maxCheckMs),
});

export const realNetwork: ProbeNetwork = {
  http: (check, limits) => probeHttp(check, capped(limits)),
  tcp: (check, limits) => probeTcp(check, capped(limits)),
  grpc: (check, limits) => probeGrpc(check, capped(limits)),
};

const fine = async (): Promise<ProbeOutcome> => ({ result: "success", output: "" });
/** For simulated pods: every check succeeds. */
export const simulatedNetwork: ProbeNetwork = { http: fine, tcp: fine, grpc: fine };
