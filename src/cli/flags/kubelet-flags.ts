import path from "node:path";

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
