import { readFile, writeFile } from "node:fs/promises";
import { stopContainerd } from "#kubelet/containerd/containerd.ts";
import { containerdPaths } from "#kubelet/containerd/paths.ts";
import { removePodNetwork } from "#kubelet/network/cni.ts";
import { type Clock } from "#lib/async/clock.ts";
import { mountsUnder, unmountUnder } from "#lib/fs/mounts.ts";
import { parseDualRange } from "#lib/net/dual-range.ts";
import { type Log } from "#lib/process/log.ts";
import { removeProxy } from "#proxy/remove-proxy.ts";
import { removeRoutes } from "#routes/apply-routes.ts";
import { nodeNames } from "./node-names.ts";

/** Where a node keeps the range of the cluster's pods, by which its routes are found. */
const rangeFile = (dataDir: string): string => `${dataDir}/cluster-cidr`;

/** Notes what `removeNode` must know. */
export const noteRange = (dataDir: string, clusterCidr: string): Promise<void> =>
  writeFile(rangeFile(dataDir), `${clusterCidr}\n`);

async function removeRoutesOf(dataDir: string): Promise<void> {
  const noted = (await readFile(rangeFile(dataDir), "utf8").catch(() => "")).trim();
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
