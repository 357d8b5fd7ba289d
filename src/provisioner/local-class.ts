import { type InputOf } from "#api/resource.ts";
import { isAlreadyExists } from "#api/status.ts";
import { isDefaultClass, StorageClass } from "#api/storage/storage-class.ts";
import { type Client } from "#client/client.ts";

/** The provisioner of volumes that are directories of a node, and the name of its class. */
export const localProvisioner = "orlop.dev/local";
export const localClassName = "orlop-local";

/**
 * Creates the class if there is none of that name. It becomes the default unless there is another one: somebody who
 * deleted it and made their own keeps their own.
 */
export async function ensureLocalClass(client: Client, signal: AbortSignal): Promise<void> {
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
