import { type Check, type CheckVersion } from "./check.ts";

/** Kernel parameters that do not reach beyond the pod, and since when they are allowed. */
const safe: readonly (readonly [since: number, names: readonly string[]])[] = [
  [
    0,
    [
      "kernel.shm_rmid_forced",
      "net.ipv4.ip_local_port_range",
      "net.ipv4.tcp_syncookies",
      "net.ipv4.ping_group_range",
      "net.ipv4.ip_unprivileged_port_start",
    ],
  ],
  [27, ["net.ipv4.ip_local_reserved_ports"]],
  [
    29,
    [
      "net.ipv4.tcp_keepalive_time",
      "net.ipv4.tcp_fin_timeout",
      "net.ipv4.tcp_keepalive_intvl",
      "net.ipv4.tcp_keepalive_probes",
    ],
  ],
  [32, ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"]],
];

export const sysctls: Check = {
  id: "sysctls",
  level: "baseline",
  versions: [versionSince(0), versionSince(27), versionSince(29), versionSince(32)],
};

function versionSince(since: number): CheckVersion {
  const allowed = new Set(safe.filter(([first]) => first <= since).flatMap(([, names]) => names));
  return {
    since,
    find({ security }) {
      const bad = security.sysctls?.filter(({ name }) => !allowed.has(name)) ?? [];
      if (bad.length === 0) return undefined;
      return { reason: "forbidden sysctls", detail: bad.map(({ name }) => name).join(", ") };
    },
  };
}
