import type { HostFacts } from "./host.ts";
import type { ContainerdPaths } from "./paths.ts";

/** Plugins that a node never uses. Each would cost time at the start. */
const unusedPlugins = [
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.opt",
  "io.containerd.internal.v1.tracing",
  "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.nri.v1.nri",
];

/** The configuration file of our own containerd. Everything it stores is under our paths. */
export function renderContainerdConfig(paths: ContainerdPaths, host: HostFacts, sandboxImage: string): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  const sections: Section[] = [
    { values: { version: 2, root: paths.root, state: paths.state, disabled_plugins: unusedPlugins } },
    {
      name: "grpc",
      values: { address: paths.socket, max_recv_message_size: maxMessage, max_send_message_size: maxMessage },
    },
    { name: "ttrpc", values: { address: paths.ttrpcSocket } },
    {
      name: cri,
      values: {
        sandbox_image: sandboxImage,
        stream_server_address: "127.0.0.1",
        stream_server_port: "0",
        stream_idle_timeout: "4h0m0s",
        netns_mounts_under_state_dir: true,
        restrict_oom_score_adj: !host.canRaisePriority,
        disable_apparmor: !host.hasAppArmor,
        tolerate_missing_hugetlb_controller: true,
        disable_hugetlb_controller: true,
        enable_unprivileged_ports: true,
        enable_unprivileged_icmp: true,
        max_container_log_line_size: 16384,
      },
    },
    { name: `${cri}.containerd`, values: { snapshotter: host.snapshotter, default_runtime_name: "runc" } },
    {
      name: `${cri}.containerd.runtimes.runc`,
      // A privileged container gets every device, as upstream's tests expect.
      values: { runtime_type: "io.containerd.runc.v2", privileged_without_host_devices: false },
    },
    {
      name: `${cri}.containerd.runtimes.runc.options`,
      values: { BinaryName: paths.runc, Root: paths.runcRoot, SystemdCgroup: host.cgroupDriver === "systemd" },
    },
    { name: `${cri}.cni`, values: { bin_dir: host.cniBinDir, conf_dir: paths.cniConfDir, max_conf_num: 1 } },
    { name: `${cri}.registry`, values: { config_path: paths.registryHosts } },
  ];
  return `${sections.map(renderSection).join("\n\n")}\n`;
}

const maxMessage = 64 << 20;

interface Section {
  readonly name?: string;
  readonly values: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

function renderSection({ name, values }: Section): string {
  // JSON's strings, numbers, booleans and lists are also valid TOML.
  const lines = Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return [...(name === undefined ? [] : [`[${name}]`]), ...lines].join("\n");
}
