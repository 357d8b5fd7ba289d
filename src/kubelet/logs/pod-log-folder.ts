import type { PodName } from "#kubelet/host/host.ts";

/** The longest name that file systems take, in bytes. */
const maxNameBytes = 255;

/** `NAMESPACE_NAME_UID`, as upstream names it. A long name is cut, since the uid alone tells pods apart. */
export function podLogFolder({ namespace, name, uid }: PodName): string {
  const room = maxNameBytes - `${namespace}__${uid}`.length;
  return `${namespace}_${name.slice(0, room)}_${uid}`;
}
