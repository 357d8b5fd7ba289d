import path from "node:path";
import { type EncryptionFile } from "#cluster/control-plane.ts";
import { UserError } from "../command.ts";

/** How values are stored, for the commands that start a server. */
export const storageFlags = {
  "encryption-provider-config": {
    type: "string",
    value: "FILE",
    help: "an EncryptionConfiguration: which kinds are encrypted in the store, and with which keys",
  },
  "encryption-provider-config-automatic-reload": {
    type: "boolean",
    default: false,
    help: "read that file again when it changes",
  },
} as const;

export interface StorageValues {
  readonly "encryption-provider-config"?: string | undefined;
  readonly "encryption-provider-config-automatic-reload": boolean;
}

export function encryptionOf(values: StorageValues): EncryptionFile | undefined {
  const file = values["encryption-provider-config"];
  const reloads = values["encryption-provider-config-automatic-reload"];
  if (file) return { file: path.resolve(file), reloads };
  if (reloads) {
    throw new UserError(
      "--encryption-provider-config-automatic-reload needs the file that it reads again: add --encryption-provider-config FILE",
    );
  }
  return undefined;
}
