import { stopContainerd } from "#kubelet/containerd/containerd.ts";
import { containerdPaths } from "#kubelet/containerd/paths.ts";
import { removePodNetwork } from "#kubelet/network/cni.ts";
import { type Clock } from "#lib/async/clock.ts";
import { mountsUnder, unmountUnder } from "#lib/fs/mounts.ts";
import { parseDualRange } from "#lib/net/dual-range.ts";
import { type Log } from "#lib/process/log.ts";
import { removeProxy } from "#proxy/remove-proxy.ts";
import { removeRoutes } from "#routes/apply-routes.ts";
import { nodeNames, notedRange } from "./node-names.ts";

async function removeRoutesOf(dataDir: string): Promise<void> {
  const noted = await notedRange(dataDir);
  if (!noted) return;
  const { ipv4: clusterCidr, ipv6: clusterCidr6 } = parseDualRange(noted);
  await removeRoutes({ clusterCidr, clusterCidr6, tunnelName: nodeNames(dataDir).tunnel });
}

/** Removes everything that a node has on the machine: containers, containerd, mounts, bridge, rules and cgroups. */
export async function removeNode(
  { dataDir, removeData }: { readonly dataDir: string; readonly removeData: boolean },
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const { bridge, table } = nodeNames(dataDir);
  await stopContainerd({ dataDir, clock, log, removeData });
  // The directory itself may be a mount point that somebody made for it; that mount stays.
  const mounts = await mountsUnder([dataDir, containerdPaths(dataDir).runDir]);
  await unmountUnder(
    mounts.filter((mount) => mount !== dataDir),
    "lazy",
  );
  await removeProxy(table);
  await removeRoutesOf(dataDir);
  await removePodNetwork(bridge);
}
