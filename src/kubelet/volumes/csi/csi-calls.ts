import { type Rpc, rpc } from "#lib/proto/grpc/client.ts";
import { type Encodable, field, type Message, message, nested, repeated, stringMap } from "#lib/proto/grpc/message.ts";

/** The part of CSI v1 that a node calls. */

const Empty = message({});
const VolumeCapability = message({
  block: nested(1, message({})),
  mount: nested(
    2,
    message({ fsType: field(1, "string"), mountFlags: repeated(2, "string"), volumeMountGroup: field(3, "string") }),
  ),
  accessMode: nested(3, message({ mode: field(1, "int32") })),
});
export type VolumeCapability = Encodable<typeof VolumeCapability>;

const StageRequest = message({
  volumeId: field(1, "string"),
  publishContext: stringMap(2),
  stagingTargetPath: field(3, "string"),
  volumeCapability: nested(4, VolumeCapability),
  secrets: stringMap(5),
  volumeContext: stringMap(6),
});
const UnstageRequest = message({ volumeId: field(1, "string"), stagingTargetPath: field(2, "string") });
const PublishRequest = message({
  volumeId: field(1, "string"),
  publishContext: stringMap(2),
  stagingTargetPath: field(3, "string"),
  targetPath: field(4, "string"),
  volumeCapability: nested(5, VolumeCapability),
  readonly: field(6, "bool"),
  secrets: stringMap(7),
  volumeContext: stringMap(8),
});
const UnpublishRequest = message({ volumeId: field(1, "string"), targetPath: field(2, "string") });
const StatsRequest = message({
  volumeId: field(1, "string"),
  volumePath: field(2, "string"),
  stagingTargetPath: field(3, "string"),
});
const VolumeUsage = message({
  available: field(1, "int64"),
  total: field(2, "int64"),
  used: field(3, "int64"),
  /** 1: bytes, 2: inodes. */
  unit: field(4, "int32"),
});
const ExpandRequest = message({
  volumeId: field(1, "string"),
  volumePath: field(2, "string"),
  capacityRange: nested(3, message({ requiredBytes: field(1, "int64"), limitBytes: field(2, "int64") })),
  stagingTargetPath: field(4, "string"),
  volumeCapability: nested(5, VolumeCapability),
  secrets: stringMap(6),
});
const Capabilities = message({
  capabilities: repeated(1, message({ rpc: nested(1, message({ type: field(1, "int32") })) })),
});
const NodeInfo = message({
  nodeId: field(1, "string"),
  maxVolumesPerNode: field(2, "int64"),
  accessibleTopology: nested(3, message({ segments: stringMap(1) })),
});

const node = <In, Out>(name: string, request: Message<unknown, In>, response: Message<Out, never>): Rpc<In, Out> =>
  rpc(`/csi.v1.Node/${name}`, request, response);

export const csiCalls = {
  info: node("NodeGetInfo", Empty, NodeInfo),
  capabilities: node("NodeGetCapabilities", Empty, Capabilities),
  stage: node("NodeStageVolume", StageRequest, Empty),
  unstage: node("NodeUnstageVolume", UnstageRequest, Empty),
  publish: node("NodePublishVolume", PublishRequest, Empty),
  unpublish: node("NodeUnpublishVolume", UnpublishRequest, Empty),
  stats: node("NodeGetVolumeStats", StatsRequest, message({ usage: repeated(1, VolumeUsage) })),
  expand: node("NodeExpandVolume", ExpandRequest, message({ capacityBytes: field(1, "int64") })),
} as const;

/** Capabilities of a driver. */
export const csiCapability = { stage: 1, stats: 2, expand: 3, condition: 4, singleNodeMultiWriter: 5, mountGroup: 6 };
