import type { PodName } from "#kubelet/host/host.ts";

/** The longest file name that file systems allow, in bytes. */
const maxNameBytes = 255;

/** `NAMESPACE_NAME_UID`, upstream's name. A long one is truncated, because the uid alone distinguishes pods. */
export function podLogFolder({ namespace, name, uid }: PodName): string {
  const room = maxNameBytes - `${namespace}__${uid}`.length;
  return `${namespace}_${name.slice(0, room)}_${uid}`;
}
