import { originUrl } from "#lib/net/origin-url.ts";
import { GrpcClient, rpc } from "#lib/proto/grpc/client.ts";
import { field, message } from "#lib/proto/grpc/message.ts";
import { isGrpcError } from "#lib/proto/grpc/status.ts";
import { messageOf } from "#lib/text/message-of.ts";
import type { CheckLimits, GrpcCheck, ProbeOutcome } from "./network.ts";
import { joinHostPort } from "./tcp.ts";

const HealthCheckRequest = message({ service: field(1, "string") });
const HealthCheckResponse = message({ status: field(1, "int32") });
const check = rpc("/grpc.health.v1.Health/Check", HealthCheckRequest, HealthCheckResponse);
/**
 * What a pod may send for one check; a normal answer has some 200 bytes. HTTP/2 has many kinds of frames that the library
 * handles unseen, and this limit bounds them all. 16 KiB are at most 1,800 frames.
 */
const readLimits = { bytes: 16 << 10, chunks: 256 };
const states = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

/** Calls the standard health service of gRPC servers. */
export async function probeGrpc(
  { host, port, service }: GrpcCheck,
  { clock, timeoutMs, signal }: CheckLimits,
): Promise<ProbeOutcome> {
  const address = joinHostPort(host, port);
  const origin = originUrl({ scheme: "http", host, port });
  using client = new GrpcClient({ address: origin.origin, clock, readLimits, maxMessageBytes: readLimits.bytes });
  try {
    const metadata = { "user-agent": "kube-probe/1.36" };
    const { status } = await client.call(check, { service }, { signal, timeoutMs, metadata });
    const state = states[status] ?? String(status);
    if (state === "SERVING") return { result: "success", output: "service healthy" };
    return { result: "failure", output: `service unhealthy (responded with "${state}")` };
  } catch (error) {
    signal.throwIfAborted();
    return { result: "failure", output: explain(error, address, timeoutMs) };
  }
}

function explain(error: unknown, address: string, timeoutMs: number): string {
  const text = messageOf(error);
  const within = `${timeoutMs / 1000}s`;
  if (isGrpcError(error, "UNAVAILABLE")) {
    return `timeout: failed to connect service "${address}" within ${within}: context deadline exceeded`;
  }
  if (isGrpcError(error, "DEADLINE_EXCEEDED")) return `timeout: health rpc did not complete within ${within}`;
  if (isGrpcError(error, "UNIMPLEMENTED")) {
    return `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${text}`;
  }
  return `error: health rpc probe failed: ${text}`;
}
