import type { Clock } from "#lib/async/clock.ts";
import { type GrpcClient, rpc } from "#lib/proto/grpc/client.ts";
import { field, message } from "#lib/proto/grpc/message.ts";
import { type GrpcCode, isGrpcError } from "#lib/proto/grpc/status.ts";
import { Empty } from "./cri-messages.ts";

const KillRequest = message({ containerId: field(1, "string"), signal: field(3, "uint32"), all: field(4, "bool") });
const TaskId = message({ containerId: field(1, "string") });
const kill = rpc("/containerd.services.tasks.v1.Tasks/Kill", KillRequest, Empty);
const remove = rpc("/containerd.services.tasks.v1.Tasks/Delete", TaskId, Empty);

/** CRI's containers live there. */
const metadata = { "containerd-namespace": "k8s.io" };
const timeoutMs = 10_000;
const sigkill = 9;

/** How long a killed task may take to end, in doubling pauses. */
const maxPauseMs = 2000;

export interface TaskDeps {
  readonly client: GrpcClient;
  readonly clock: Clock;
}

/**
 * Ends a task that CRI has lost. If the caller of StartContainer dies at the wrong moment, CRI takes the start for failed
 * although the task is there. From then on it neither stops nor removes the container.
 */
export async function endLostTask({ client, clock }: TaskDeps, containerId: string, signal?: AbortSignal) {
  const options = { metadata, timeoutMs, signal };
  await unless(["NOT_FOUND", "FAILED_PRECONDITION"], () =>
    client.call(kill, { containerId, signal: sigkill, all: true }, options),
  );
  for (let pauseMs = 10; pauseMs <= maxPauseMs; pauseMs *= 2) {
    const isGone = await unless(["FAILED_PRECONDITION"], () =>
      unless(["NOT_FOUND"], () => client.call(remove, { containerId }, options)).then(() => true),
    );
    if (isGone) return;
    await clock.sleep(pauseMs, signal);
  }
}

/** Returns undefined if the call fails with one of these codes. */
async function unless<T>(codes: readonly GrpcCode[], call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (codes.some((code) => isGrpcError(error, code))) return undefined;
    throw error;
  }
}
