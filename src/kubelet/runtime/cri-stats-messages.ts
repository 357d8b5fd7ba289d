import { type Decoded, field, message, nested, repeated, stringMap } from "#lib/proto/grpc/message.ts";
import { ImageSpec, Int64Value, PodSandboxConfig, UInt64Value } from "./cri-messages.ts";

/** The messages of CRI v1 about images and resource usage. */

const Image = message({
  id: field(1, "string"),
  repoTags: repeated(2, "string"),
  repoDigests: repeated(3, "string"),
  size: field(4, "uint64"),
  uid: nested(5, Int64Value),
  username: field(6, "string"),
  spec: nested(7, ImageSpec),
  pinned: field(8, "bool"),
});
export type Image = Decoded<typeof Image>;

export const ImageStatusRequest = message({ image: nested(1, ImageSpec), verbose: field(2, "bool") });
export const ImageStatusResponse = message({ image: nested(1, Image), info: stringMap(2) });
export const ListImagesRequest = message({ filter: nested(1, message({ image: nested(1, ImageSpec) })) });
export const ListImagesResponse = message({ images: repeated(1, Image) });
export const RemoveImageRequest = message({ image: nested(1, ImageSpec) });
const AuthConfig = message({
  username: field(1, "string"),
  password: field(2, "string"),
  auth: field(3, "string"),
  serverAddress: field(4, "string"),
  identityToken: field(5, "string"),
  registryToken: field(6, "string"),
});
export const PullImageRequest = message({
  image: nested(1, ImageSpec),
  auth: nested(2, AuthConfig),
  sandboxConfig: nested(3, PodSandboxConfig),
});
export const PullImageResponse = message({ imageRef: field(1, "string") });

const FilesystemUsage = message({
  timestamp: field(1, "int64"),
  fsId: nested(2, message({ mountpoint: field(1, "string") })),
  usedBytes: nested(3, UInt64Value),
  inodesUsed: nested(4, UInt64Value),
});
export const ImageFsInfoResponse = message({
  imageFilesystems: repeated(1, FilesystemUsage),
  containerFilesystems: repeated(2, FilesystemUsage),
});

const CpuUsage = message({
  timestamp: field(1, "int64"),
  usageCoreNanoSeconds: nested(2, UInt64Value),
  usageNanoCores: nested(3, UInt64Value),
});
const MemoryUsage = message({
  timestamp: field(1, "int64"),
  workingSetBytes: nested(2, UInt64Value),
  availableBytes: nested(3, UInt64Value),
  usageBytes: nested(4, UInt64Value),
  rssBytes: nested(5, UInt64Value),
  pageFaults: nested(6, UInt64Value),
  majorPageFaults: nested(7, UInt64Value),
});
const SwapUsage = message({
  timestamp: field(1, "int64"),
  swapAvailableBytes: nested(2, UInt64Value),
  swapUsageBytes: nested(3, UInt64Value),
});
const ContainerAttributes = message({
  id: field(1, "string"),
  metadata: nested(2, message({ name: field(1, "string"), attempt: field(2, "uint32") })),
  labels: stringMap(3),
  annotations: stringMap(4),
});
const ContainerStats = message({
  attributes: nested(1, ContainerAttributes),
  cpu: nested(2, CpuUsage),
  memory: nested(3, MemoryUsage),
  writableLayer: nested(4, FilesystemUsage),
  swap: nested(5, SwapUsage),
});
export type ContainerStats = Decoded<typeof ContainerStats>;
const StatsFilter = message({
  id: field(1, "string"),
  podSandboxId: field(2, "string"),
  labelSelector: stringMap(3),
});
export const ContainerStatsResponse = message({ stats: nested(1, ContainerStats) });
export const ListContainerStatsRequest = message({ filter: nested(1, StatsFilter) });
export const ListContainerStatsResponse = message({ stats: repeated(1, ContainerStats) });

const NetworkInterfaceUsage = message({
  name: field(1, "string"),
  rxBytes: nested(2, UInt64Value),
  rxErrors: nested(3, UInt64Value),
  txBytes: nested(4, UInt64Value),
  txErrors: nested(5, UInt64Value),
});
const LinuxPodSandboxStats = message({
  cpu: nested(1, CpuUsage),
  memory: nested(2, MemoryUsage),
  network: nested(
    3,
    message({
      timestamp: field(1, "int64"),
      defaultInterface: nested(2, NetworkInterfaceUsage),
      interfaces: repeated(3, NetworkInterfaceUsage),
    }),
  ),
  process: nested(4, message({ timestamp: field(1, "int64"), processCount: nested(2, UInt64Value) })),
  containers: repeated(5, ContainerStats),
});
const PodSandboxAttributes = message({
  id: field(1, "string"),
  metadata: nested(
    2,
    message({
      name: field(1, "string"),
      uid: field(2, "string"),
      namespace: field(3, "string"),
      attempt: field(4, "uint32"),
    }),
  ),
  labels: stringMap(3),
  annotations: stringMap(4),
});
const PodSandboxStats = message({
  attributes: nested(1, PodSandboxAttributes),
  linux: nested(2, LinuxPodSandboxStats),
});
export type PodSandboxStats = Decoded<typeof PodSandboxStats>;
const PodSandboxStatsFilter = message({ id: field(1, "string"), labelSelector: stringMap(2) });
export const ListPodSandboxStatsRequest = message({ filter: nested(1, PodSandboxStatsFilter) });
export const ListPodSandboxStatsResponse = message({ stats: repeated(1, PodSandboxStats) });
export const PodSandboxStatsResponse = message({ stats: nested(1, PodSandboxStats) });
