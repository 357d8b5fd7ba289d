import { ignoreNotFound } from "#api/status.ts";
import { CSIDriver } from "#api/storage/csi-driver.ts";
import type { Client } from "#client/client.ts";
import { ClaimManager } from "#kubelet/claims/claim-manager.ts";
import { DeviceManager, deviceApiVersion } from "#kubelet/resources/devices.ts";
import { type CsiDeps, csiPersistent, csiVolume } from "#kubelet/volumes/csi/csi.ts";
import { CsiDrivers } from "#kubelet/volumes/csi/csi-drivers.ts";
import { reportGrown } from "#kubelet/volumes/csi/csi-growth.ts";
import { CsiNodeReport } from "#kubelet/volumes/csi/csi-node.ts";
import { VolumesInUse } from "#kubelet/volumes/csi/volumes-in-use.ts";
import type { FurtherPlugins } from "#kubelet/volumes/volumes.ts";
import { backoffMs } from "#lib/async/backoff.ts";
import type { Clock } from "#lib/async/clock.ts";
import { aborted, runTogether } from "#lib/async/tasks.ts";
import type { Log } from "#lib/process/log.ts";
import { type PluginHandler, watchPlugins } from "./registration.ts";

export interface NodePluginsOptions {
  readonly dataDir: string;
  readonly nodeName: string;
  /** Acts as this node. */
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** The number of devices may have changed. */
  devicesChanged(): void;
}
/** What programs on this node offer to its pods: devices and volumes. */
export interface NodePlugins {
  readonly devices: DeviceManager;
  readonly claims: ClaimManager;
  readonly volumes: FurtherPlugins;
  /** Registers plugins until the signal. */
  run(signal: AbortSignal): Promise<void>;
}

/** Records which claims are prepared, in the data directory. */
export const claimsFile = "dra_manager_state.json";

export async function openNodePlugins(options: NodePluginsOptions): Promise<NodePlugins> {
  const { dataDir, clock, log } = options;
  const dir = `${dataDir}/device-plugins`;
  const devices = await DeviceManager.open({ dir, clock, log, onChange: options.devicesChanged });
  const claims = await ClaimManager.open({ file: `${dataDir}/${claimsFile}`, clock });
  const csi = openCsi(options);
  return {
    devices,
    claims,
    volumes: { volumes: [csiVolume(csi)], persistent: [csiPersistent(csi)] },
    async run(signal) {
      const handlers = {
        CSIPlugin: csiHandler(csi, log),
        DevicePlugin: deviceHandler(devices, signal),
        DRAPlugin: claimHandler(claims),
      };
      using _drivers = csi.drivers;
      using _claims = claims;
      await runTogether(signal, [
        (ended) => serveDevices({ devices, socket: `${dir}/kubelet.sock`, log }, ended),
        (ended) => watchPlugins({ dir: `${dataDir}/plugins_registry`, handlers, clock, log }, ended),
        (ended) => startReports(csi, options, ended),
      ]);
    },
  };
}

/** What the node does with CSI drivers, and what it tells about them. */
interface Csi extends CsiDeps {
  readonly inUse: VolumesInUse;
  readonly report: CsiNodeReport;
}

function openCsi({ dataDir, client, nodeName, clock }: NodePluginsOptions): Csi {
  return {
    drivers: new CsiDrivers(clock),
    stagingDir: `${dataDir}/plugins/kubernetes.io/csi`,
    inUse: new VolumesInUse({ client, nodeName, clock, podsDir: `${dataDir}/pods` }),
    report: new CsiNodeReport({ client, nodeName }),
    grown: (growth) => reportGrown(client, growth),
    settings: async (name) => (await client.get(CSIDriver, { name }).catch(ignoreNotFound))?.spec,
  };
}

const reportRetry = { baseMs: 500, maxMs: 30_000 };
/** By then the node is usually registered. */
const expectedTries = 5;

/** Creates the CSINode, and says which volumes are still in use. Tried again until the node is registered. */
async function startReports({ inUse, report }: Csi, { clock, log }: NodePluginsOptions, signal: AbortSignal) {
  for (let tries = 1; !signal.aborted; tries++) {
    try {
      await report.create();
      await inUse.load();
      await inUse.report();
      break;
    } catch (error) {
      if (tries === expectedTries) log.warn("could not report the volumes of the node yet", { error });
      await clock.sleep(backoffMs(tries, reportRetry), signal).catch(() => {});
    }
  }
  await aborted(signal);
}

/** The kernel's limit for the path of a unix socket. */
const maxSocketPath = 107;

interface Serving {
  readonly devices: DeviceManager;
  readonly socket: string;
  readonly log: Log;
}

/** A node whose data directory is too deep for a socket runs without device plugins. */
async function serveDevices({ devices, socket, log }: Serving, signal: AbortSignal): Promise<void> {
  if (Buffer.byteLength(socket) <= maxSocketPath) return await devices.run(signal);
  log.warn("no device plugins: the path of their socket is too long", { socket, maxSocketPath });
  await aborted(signal);
}

const csiHandler = ({ drivers, report }: Csi, log: Log): PluginHandler => ({
  async register({ name, endpoint }) {
    const { node } = await drivers.register(name, endpoint);
    await report.add(name, node);
  },
  unregister({ name }) {
    drivers.unregister(name);
    report.remove(name).catch((error: unknown) => log.warn("could not report that a driver is gone", { name, error }));
  },
});

const claimHandler = (claims: ClaimManager): PluginHandler => ({
  register: async (plugin) => claims.register(plugin),
  unregister: (plugin) => claims.unregister(plugin),
});

const deviceHandler = (devices: DeviceManager, signal: AbortSignal): PluginHandler => ({
  async register({ name, endpoint, versions }) {
    if (!versions.includes(deviceApiVersion)) {
      const found = `[${versions.join(" ")}]`;
      throw new Error(`manager version, ${deviceApiVersion}, is not among plugin supported versions ${found}`);
    }
    await devices.register(name, endpoint, signal);
  },
  unregister: ({ name }) => devices.unregister(name),
});
