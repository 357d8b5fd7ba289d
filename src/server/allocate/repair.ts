import { runTogether } from "#lib/async/tasks.ts";
import { type ReconcilerFactory, type RunDeps, runReconcilers } from "#runtime/run-reconciler.ts";
import { repairIPAddresses, repairServiceAddresses } from "./repair-addresses.ts";
import { type PortRepair, repairPortClaims, repairServicePorts } from "./repair-ports.ts";

/** Repairs what services hold until the signal: claims that are missing, that nobody has, or that two services have. */
export async function runServiceRepair(
  { objects, range, ...deps }: RunDeps & PortRepair,
  signal: AbortSignal,
): Promise<void> {
  const ports = { objects, range };
  const run = (component: string, factories: ReconcilerFactory[]) => (stop: AbortSignal) =>
    runReconcilers(factories, { ...deps, component }, stop);
  await runTogether(signal, [
    run("ipallocator-repair-controller", [repairServiceAddresses, repairIPAddresses]),
    run("portallocator-repair-controller", [repairServicePorts(ports), repairPortClaims(ports)]),
  ]);
}
