import { ClaimsRequest, draPath, draService, PrepareResponse, UnprepareResponse } from "#kubelet/claims/dra-calls.ts";
import { field, message, repeated } from "#lib/proto/grpc/message.ts";
import { serveGrpc, serveUnary } from "#lib/proto/grpc/server.ts";

/** A driver of devices on a node. Each claim gets one device, whose CDI name ends with the name of the claim. */
export interface DeviceDriver extends AsyncDisposable {
  /** The calls so far: `prepare NAME` and `unprepare NAME`. */
  readonly calls: string[];
  /** Why it refuses to prepare claims. */
  refusal: string;
}

const Info = message({
  type: field(1, "string"),
  name: field(2, "string"),
  endpoint: field(3, "string"),
  versions: repeated(4, "string"),
});
const Empty = message({});
const Status = message({ pluginRegistered: field(1, "bool"), error: field(2, "string") });
const registration = "/pluginregistration.Registration";

/** Serves a driver at a socket where the kubelet finds it. */
export async function startDeviceDriver(dir: string, name: string): Promise<DeviceDriver> {
  const calls: string[] = [];
  const endpoint = `${dir}/${name}.sock`;
  const driver = { calls, refusal: "" };
  const server = await serveGrpc(endpoint, [
    serveUnary(`${registration}/GetInfo`, { request: Empty, response: Info }, () => ({
      type: "DRAPlugin",
      name,
      endpoint,
      versions: [draService],
    })),
    serveUnary(`${registration}/NotifyRegistrationStatus`, { request: Status, response: Empty }, () => ({})),
    serveUnary(
      `${draPath}/NodePrepareResources`,
      { request: ClaimsRequest, response: PrepareResponse },
      ({ claims }) => ({
        claims: claims.map(({ uid, name: claim }) => {
          calls.push(`prepare ${claim}`);
          const device = {
            requestNames: ["gpu"],
            poolName: "p",
            deviceName: "d",
            cdiDeviceIds: [`${name}/gpu=${claim}`],
          };
          return { uid, result: driver.refusal ? { error: driver.refusal } : { devices: [device] } };
        }),
      }),
    ),
    serveUnary(
      `${draPath}/NodeUnprepareResources`,
      { request: ClaimsRequest, response: UnprepareResponse },
      ({ claims }) => ({
        claims: claims.map(({ uid, name: claim }) => {
          calls.push(`unprepare ${claim}`);
          return { uid, result: {} };
        }),
      }),
    ),
  ]);
  return Object.assign(driver, { [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() });
}
