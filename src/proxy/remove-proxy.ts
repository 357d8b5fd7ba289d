import { deleteTable, type Host, hasTable, thisHost } from "./apply.ts";
import { restoreKernel } from "./machine/kernel-settings.ts";

/** Removes everything that a proxy left in the kernel, if anything. */
export async function removeProxy(tableName: string, host: Host = thisHost): Promise<void> {
  await restoreKernel(host, tableName);
  for (const family of ["ip", "ip6"]) {
    if (await hasTable(host, family, tableName)) await deleteTable(host, family, tableName);
  }
}
