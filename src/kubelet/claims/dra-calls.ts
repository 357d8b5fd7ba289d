import { rpc } from "#lib/proto/grpc/client.ts";
import { type Decoded, field, message, nested, repeated } from "#lib/proto/grpc/message.ts";

/** The messages between a kubelet and drivers of devices, version `v1`. */

const Claim = message({ namespace: field(1, "string"), uid: field(2, "string"), name: field(3, "string") });
const Device = message({
  requestNames: repeated(1, "string"),
  poolName: field(2, "string"),
  deviceName: field(3, "string"),
  cdiDeviceIds: repeated(4, "string"),
  shareId: field(5, "string"),
});
const PreparedClaim = message({ devices: repeated(1, Device), error: field(2, "string") });
const UnpreparedClaim = message({ error: field(1, "string") });
/** A map in protobuf is a list of entries. */
const entries = <Out, In>(value: Parameters<typeof nested<Out, In>>[1]) =>
  repeated(1, message({ uid: field(1, "string"), result: nested(2, value) }));

export const ClaimsRequest = message({ claims: repeated(1, Claim) });
export const PrepareResponse = message({ claims: entries(PreparedClaim) });
export const UnprepareResponse = message({ claims: entries(UnpreparedClaim) });
export type ClaimToPrepare = Decoded<typeof Claim>;
export type PreparedDevice = Decoded<typeof Device>;

/** How a driver says in its registration that it speaks this version. */
export const draService = "v1.DRAPlugin";
export const draPath = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin";
export const draCalls = {
  prepare: rpc(`${draPath}/NodePrepareResources`, ClaimsRequest, PrepareResponse),
  unprepare: rpc(`${draPath}/NodeUnprepareResources`, ClaimsRequest, UnprepareResponse),
} as const;
