import path from "node:path";
import type { KubeletFiles } from "#cluster/kubelet-config/load.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { UserError } from "../command.ts";

/** Of upstream's kubelet, whose own flag for the file is --config. */
export const kubeletFlags = {
  "kubelet-config": {
    type: "string",
    value: "FILE",
    help: "KubeletConfiguration: eviction, reserved resources, images, logs and more",
  },
  "image-credential-provider-config": {
    type: "string",
    value: "FILE",
    help: "CredentialProviderConfig: programs that know logins for images",
  },
  "image-credential-provider-bin-dir": { type: "string", value: "DIR", help: "where these programs are" },
} as const;

export type KubeletValues = { readonly [flag in keyof typeof kubeletFlags]?: string | undefined };

export function kubeletFiles(values: KubeletValues): KubeletFiles {
  const absolute = (name: keyof KubeletValues) => (values[name] ? path.resolve(values[name]) : undefined);
  return {
    config: absolute("kubelet-config"),
    credentialProviders: absolute("image-credential-provider-config"),
    credentialBinDir: absolute("image-credential-provider-bin-dir"),
  };
}

/** A mistake in the file is reported before anything starts. */
export async function checkKubeletConfig(values: KubeletValues): Promise<void> {
  const files = kubeletFiles(values);
  if (Object.values(files).every((file) => file === undefined)) return;
  const { loadKubeletFiles } = await import("#cluster/kubelet-config/load.ts");
  try {
    await loadKubeletFiles(files);
  } catch (error) {
    throw new UserError(messageOf(error));
  }
}
