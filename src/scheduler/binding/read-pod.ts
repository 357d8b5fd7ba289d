import { Pod } from "#api/core/pod.ts";
import { isNotFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";

const tries = 10;
const pauseMs = 1000;

/** The pod as the server has it; undefined if it is gone, or if the server does not say so for a while. */
export async function readPod(
  { client, clock }: { readonly client: Client; readonly clock: Clock },
  { namespace, name, uid }: Pod["metadata"],
  signal: AbortSignal,
): Promise<Pod | undefined> {
  for (let attempt = 0; attempt < tries; attempt++) {
    try {
      const pod = await client.get(Pod, { namespace, name }, { signal });
      return pod.metadata.uid === uid ? pod : undefined;
    } catch (error) {
      if (signal.aborted) throw error;
      if (isNotFound(error)) return undefined;
      await clock.sleep(pauseMs, signal);
    }
  }
  return undefined;
}
