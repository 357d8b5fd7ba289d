import { createHash } from "node:crypto";

/** Where our containerd keeps its files. */
export interface ContainerdPaths {
  readonly config: string;
  readonly log: string;
  readonly pidFile: string;
  /** Images and snapshots, which survive a restart. */
  readonly root: string;
  /** Everything that a reboot clears: sockets, running tasks, network namespaces. */
  readonly runDir: string;
  readonly state: string;
  readonly socket: string;
  readonly ttrpcSocket: string;
  /** The script through which containerd calls runc, and the directory of its notes on out-of-memory kills. */
  readonly runc: string;
  readonly oomNotes: string;
  readonly runcRoot: string;
  readonly cniConfDir: string;
  readonly cniDataDir: string;
  readonly registryHosts: string;
  /** The cgroup above all pods of this node, so that several nodes can share a machine. */
  readonly cgroupRoot: string;
}

/**
 * What does not survive a reboot is under `/run`, in a directory named after a hash of the data directory: the path of a
 * unix socket may have at most 107 bytes, and data directories are often deeper than that.
 */
export function containerdPaths(dataDir: string): ContainerdPaths {
  const id = nodeId(dataDir);
  const runDir = `/run/orlop/${id}`;
  const home = `${dataDir}/containerd`;
  return {
    config: `${home}/config.toml`,
    log: `${home}/containerd.log`,
    pidFile: `${runDir}/containerd.pid`,
    root: `${home}/root`,
    runDir,
    state: `${runDir}/state`,
    socket: `${runDir}/containerd.sock`,
    ttrpcSocket: `${runDir}/containerd.sock.ttrpc`,
    runc: `${home}/runc`, // Not under `/run`, which is often mounted noexec.
    oomNotes: `${runDir}/oom`,
    runcRoot: `${runDir}/runc`,
    cniConfDir: `${home}/cni`,
    cniDataDir: `${runDir}/cni`,
    registryHosts: `${home}/hosts`,
    cgroupRoot: `/orlop-${id}`,
  };
}

/** A short id of the node with this data directory; part of the names of its cgroups and its bridge. */
export const nodeId = (dataDir: string): string => createHash("sha256").update(dataDir).digest("hex").slice(0, 8);
