import { rpc } from "#lib/proto/grpc/client.ts";
import { type Decoded, field, message, nested, repeated, stringMap } from "#lib/proto/grpc/message.ts";

/** The messages between a kubelet and device plugins, version `v1beta1`. */

export const Empty = message({});
export const PluginOptions = message({
  preStartRequired: field(1, "bool"),
  getPreferredAllocationAvailable: field(2, "bool"),
});
export const RegisterRequest = message({
  version: field(1, "string"),
  endpoint: field(2, "string"),
  resourceName: field(3, "string"),
  options: nested(4, PluginOptions),
});
const Topology = message({ nodes: repeated(1, message({ id: field(1, "int64") })) });
const Device = message({ id: field(1, "string"), health: field(2, "string"), topology: nested(3, Topology) });
export const DeviceList = message({ devices: repeated(1, Device) });
export const AllocateRequest = message({ containerRequests: repeated(1, message({ ids: repeated(1, "string") })) });
const ContainerAllocation = message({
  envs: stringMap(1),
  mounts: repeated(
    2,
    message({ containerPath: field(1, "string"), hostPath: field(2, "string"), readOnly: field(3, "bool") }),
  ),
  devices: repeated(
    3,
    message({ containerPath: field(1, "string"), hostPath: field(2, "string"), permissions: field(3, "string") }),
  ),
  annotations: stringMap(4),
  cdiDevices: repeated(5, message({ name: field(1, "string") })),
});
export type ContainerAllocation = Decoded<typeof ContainerAllocation>;
export const AllocateResponse = message({ containerResponses: repeated(1, ContainerAllocation) });
const PreferredRequest = message({
  containerRequests: repeated(
    1,
    message({ available: repeated(1, "string"), mustInclude: repeated(2, "string"), size: field(3, "int32") }),
  ),
});
const PreferredResponse = message({ containerResponses: repeated(1, message({ ids: repeated(1, "string") })) });
export const PreStartRequest = message({ ids: repeated(1, "string") });

const service = "/v1beta1.DevicePlugin";
export const registerPath = "/v1beta1.Registration/Register";
export const deviceCalls = {
  options: rpc(`${service}/GetDevicePluginOptions`, Empty, PluginOptions),
  listAndWatch: rpc(`${service}/ListAndWatch`, Empty, DeviceList),
  preferred: rpc(`${service}/GetPreferredAllocation`, PreferredRequest, PreferredResponse),
  allocate: rpc(`${service}/Allocate`, AllocateRequest, AllocateResponse),
  preStart: rpc(`${service}/PreStartContainer`, PreStartRequest, Empty),
} as const;
