import { ClaimManager } from "#kubelet/claims/claim-manager.ts";
import { DeviceManager, deviceApiVersion } from "#kubelet/resources/devices.ts";
import { csiPersistent, csiVolume } from "#kubelet/volumes/csi/csi.ts";
import { CsiDrivers } from "#kubelet/volumes/csi/csi-drivers.ts";
import type { FurtherPlugins } from "#kubelet/volumes/volumes.ts";
import type { Clock } from "#lib/async/clock.ts";
import { aborted, runTogether } from "#lib/async/tasks.ts";
import type { Log } from "#lib/process/log.ts";
import { type PluginHandler, watchPlugins } from "./registration.ts";

export interface NodePluginsOptions {
  readonly dataDir: string;
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

export async function openNodePlugins(options: NodePluginsOptions): Promise<NodePlugins> {
  const { dataDir, clock, log } = options;
  const dir = `${dataDir}/device-plugins`;
  const devices = await DeviceManager.open({ dir, clock, log, onChange: options.devicesChanged });
  const claims = await ClaimManager.open({ file: `${dataDir}/dra_manager_state.json`, clock });
  const drivers = new CsiDrivers(clock);
  // CSIDriver objects are not read: most drivers of ephemeral volumes want the pod's name, so all drivers get it.
  const settings = async () => ({ podInfoOnMount: true });
  const csi = { drivers, stagingDir: `${dataDir}/plugins/kubernetes.io/csi`, settings };
  return {
    devices,
    claims,
    volumes: { volumes: [csiVolume(csi)], persistent: [csiPersistent(csi)] },
    async run(signal) {
      const handlers = {
        CSIPlugin: csiHandler(drivers),
        DevicePlugin: deviceHandler(devices, signal),
        DRAPlugin: claimHandler(claims),
      };
      using _drivers = drivers;
      using _claims = claims;
      await runTogether(signal, [
        (ended) => serveDevices({ devices, socket: `${dir}/kubelet.sock`, log }, ended),
        (ended) => watchPlugins({ dir: `${dataDir}/plugins_registry`, handlers, clock, log }, ended),
      ]);
    },
  };
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

const csiHandler = (drivers: CsiDrivers): PluginHandler => ({
  register: async ({ name, endpoint }) => void (await drivers.register(name, endpoint)),
  unregister: ({ name }) => drivers.unregister(name),
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
