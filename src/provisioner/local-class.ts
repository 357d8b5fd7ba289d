import { type InputOf } from "#api/resource.ts";
import { isAlreadyExists } from "#api/status.ts";
import { isDefaultClass, StorageClass } from "#api/storage/storage-class.ts";
import { localProvisioner } from "#api/well-known.ts";
import { type Client } from "#client/client.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { isAbort } from "#lib/async/tasks.ts";
import { type RunDeps } from "#runtime/run-reconciler.ts";

/** The class of volumes that are directories of a node. */
export const localClassName = "orlop-local";

type ClassDeps = Pick<RunDeps, "client" | "clock" | "log">;

/**
 * Creates the class if there is none of that name. It becomes the default unless there is another one: somebody who
 * deleted it and made their own keeps their own.
 * The server may be busy or starting, so it tries until it succeeds.
 */
export async function ensureLocalClass({ client, clock, log }: ClassDeps, signal: AbortSignal): Promise<void> {
  const backoff = new Backoff({ baseMs: 100, maxMs: 10_000 });
  while (!signal.aborted) {
    try {
      return await createIfMissing(client, signal);
    } catch (error) {
      if (isAbort(error, signal)) throw error;
      log.info("cannot create the storage class yet", { error });
    }
    await clock.sleep(backoff.nextMs(), signal);
  }
}

async function createIfMissing(client: Client, signal: AbortSignal): Promise<void> {
  const { items } = await client.list(StorageClass, { signal });
  if (items.some(({ metadata }) => metadata.name === localClassName)) return;
  await client
    .create(StorageClass, localClass({ isDefault: !items.some(isDefaultClass) }), { signal })
    .catch((error) => {
      if (!isAlreadyExists(error)) throw error;
    });
}

const localClass = ({ isDefault }: { readonly isDefault: boolean }): InputOf<StorageClass> => ({
  metadata: {
    name: localClassName,
    ...(isDefault ? { annotations: { "storageclass.kubernetes.io/is-default-class": "true" } } : {}),
  },
  provisioner: localProvisioner,
  reclaimPolicy: "Delete",
  volumeBindingMode: "WaitForFirstConsumer",
  allowVolumeExpansion: true,
});
