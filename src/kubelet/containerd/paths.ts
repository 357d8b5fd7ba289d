import { createHash } from "node:crypto";

/** Where a private containerd keeps what. */
export interface ContainerdPaths {
  readonly config: string;
  readonly log: string;
  readonly pidFile: string;
  /** Images and snapshots; kept over a restart. */
  readonly root: string;
  /** Everything that a reboot clears: sockets, running tasks, network namespaces. */
  readonly runDir: string;
  readonly state: string;
  readonly socket: string;
  readonly ttrpcSocket: string;
  /** The script through which containerd calls runc, and where that notes out-of-memory kills; see oom-notes.ts. */
  readonly runc: string;
  readonly oomNotes: string;
  readonly runcRoot: string;
  readonly cniConfDir: string;
  readonly cniDataDir: string;
  readonly registryHosts: string;
  /** The cgroup under which all pods of this node are, so that several nodes can share a machine. */
  readonly cgroupRoot: string;
}

/**
 * What lives only while the machine runs is under `/run`, in a directory named after the data directory: the path of
 * a unix socket may have at most 107 bytes, and data directories are often deeper than that.
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
    runc: `${home}/runc`, // Not under `/run`, where machines often forbid programs.
    oomNotes: `${runDir}/oom`,
    runcRoot: `${runDir}/runc`,
    cniConfDir: `${home}/cni`,
    cniDataDir: `${runDir}/cni`,
    registryHosts: `${home}/hosts`,
    cgroupRoot: `/orlop-${id}`,
  };
}

/** A short name for the node that keeps its data there; also part of the names of its cgroups and bridge. */
export const nodeId = (dataDir: string): string => createHash("sha256").update(dataDir).digest("hex").slice(0, 8);
