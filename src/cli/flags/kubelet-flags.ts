import path from "node:path";
import { messageOf } from "#lib/text/message-of.ts";
import { UserError } from "../command.ts";

/** Of upstream's kubelet, whose own flag for the file is --config. */
export const kubeletFlags = {
  "kubelet-config": {
    type: "string",
    value: "FILE",
    help: "KubeletConfiguration: eviction, reserved resources, images, logs and more",
  },
} as const;

export type KubeletValues = { readonly [flag in keyof typeof kubeletFlags]?: string | undefined };

export function kubeletConfigFile(values: KubeletValues): string | undefined {
  const file = values["kubelet-config"];
  return file ? path.resolve(file) : undefined;
}

/** A mistake in the file is reported before anything starts. */
export async function checkKubeletConfig(values: KubeletValues): Promise<void> {
  const file = kubeletConfigFile(values);
  if (file === undefined) return;
  const { loadKubeletConfig } = await import("#cluster/kubelet-config/load.ts");
  try {
    await loadKubeletConfig(file);
  } catch (error) {
    throw new UserError(messageOf(error));
  }
}
