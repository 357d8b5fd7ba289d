import { createHash } from "node:crypto";

/** A volume of a CSI driver. */
export interface CsiVolume {
  readonly driver: string;
  readonly volumeHandle: string;
}

const prefix = "kubernetes.io/csi/";

/** The volume's name in the status of nodes. */
export const csiVolumeName = ({ driver, volumeHandle }: CsiVolume): string => `${prefix}${driver}^${volumeHandle}`;

/** The volume with that name in the status of a node; undefined if it is none of a CSI driver. */
export function csiVolumeOf(name: string): CsiVolume | undefined {
  const end = name.indexOf("^");
  if (!name.startsWith(prefix) || end < 0) return undefined;
  return { driver: name.slice(prefix.length, end), volumeHandle: name.slice(end + 1) };
}

/** The name of the VolumeAttachment of a volume at a node. Drivers and kubelets derive the same name. */
export const attachmentName = ({ driver, volumeHandle }: CsiVolume, nodeName: string): string =>
  `csi-${createHash("sha256").update(`${volumeHandle}${driver}${nodeName}`).digest("hex")}`;

/** Whether a VolumeAttachment can be of the attach/detach controller, as far as its name tells. */
export const isDerivedName = (name: string): boolean => /^csi-[0-9a-f]{64}$/.test(name);
