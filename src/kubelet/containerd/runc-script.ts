import { chmod, rename, writeFile } from "node:fs/promises";
import type { CgroupMode } from "#kubelet/resources/cgroups.ts";
import type { ContainerdPaths } from "./paths.ts";

/*
 * containerd starts to watch a container for out-of-memory kills only after its start, so it misses a kill in the first
 * moments. The kernel counts kills, but the cgroup is removed before the exit is visible, and cgroup v1 keeps no sum in
 * the parent. So containerd calls runc through a script that records the count before runc removes the cgroup: by the
 * time an exit is visible, its note exists.
 */

/** Writes the script at `paths.runc`, atomically, because containerd may be running the one of an earlier start. */
export async function writeRuncScript(paths: ContainerdPaths, mode: CgroupMode): Promise<void> {
  const next = `${paths.runc}.next`;
  await writeFile(next, renderRuncScript(paths, mode));
  await chmod(next, 0o755);
  await rename(next, paths.runc);
}

export function renderRuncScript(
  { cgroupRoot, oomNotes }: Pick<ContainerdPaths, "cgroupRoot" | "oomNotes">,
  mode: CgroupMode,
  mountPoint = "/sys/fs/cgroup",
): string {
  const pods = quote(`${mountPoint}${mode === "v2" ? "" : "/memory"}${cgroupRoot}/kubepods`);
  const counts = mode === "v2" ? "memory.events" : "memory.oom_control";
  // Uses only shell builtins, because it runs for every step of every container.
  return `#!/bin/sh
deleting=
for last in "$@"; do
  if [ "$last" = delete ]; then deleting=yes; fi
done
if [ "$deleting" ]; then
  for counts in ${pods}/*/"$last"/${counts} ${pods}/*/*/"$last"/${counts}; do
    if [ ! -e "$counts" ]; then continue; fi
    while read -r name count; do
      if [ "$name" = oom_kill ] && [ "$count" -gt 0 ]; then echo "$count" >${quote(oomNotes)}/"$last"; fi
    done <"$counts"
  done
fi 2>/dev/null
exec runc "$@"
`;
}

/** Quotes a text for the shell: a data directory may have any name. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
