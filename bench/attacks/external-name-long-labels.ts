import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import { dnsAddress, dnsWorks, must, podBody, startPod } from "../lib/network-claims.ts";
import { type Attack } from "./attack.ts";

const maxLogBytes = 32 * 1024 * 1024;

export const attack: Attack = {
  name: "external-name-long-labels",
  claim: "a name that DNS cannot encode is refused, and questions do not make the log grow",
  needs: "node",

  async prepare(target) {
    const dns = await dnsAddress(target);
    const names = ["alias", "none"].map((name) => `${name}.${target.namespace}.svc.cluster.local`).join(" ");
    const loop = `while true; do for n in ${names}; do nslookup $n ${dns} >/dev/null 2>&1; done; done`;
    await startPod(target, podBody("asker", `for i in 1 2 3 4; do (${loop}) & done; wait`));
  },

  async run(target, signal) {
    const services = `/api/v1/namespaces/${target.namespace}/services`;
    const dns = await dnsAddress(target);
    const longNames = [`${"a".repeat(64)}.example.test`, `${"a.".repeat(127)}a`, `${"b".repeat(200)}.test`];
    let refused = 0;
    while (!signal.aborted) {
      for (const externalName of longNames) {
        const spec = { type: "ExternalName", externalName };
        const body = { apiVersion: "v1", kind: "Service", metadata: { name: "alias" }, spec };
        const { status } = await target.ask({ method: "POST", path: services, body });
        if (status !== 422) throw new Error(`an external name of ${externalName.length} characters got ${status}`);
        refused++;
      }
      if (!(await dnsWorks(dns, "udp"))) throw new Error("DNS does not answer");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const bytes = await logBytes(target.dataDir);
    if (bytes > maxLogBytes) throw new Error(`the log has ${bytes} bytes`);
    return `${refused} refused with 422; the log has ${Math.round(bytes / 1024)} KiB`;
  },

  async cleanUp(target) {
    await must(target, { method: "DELETE", path: `/api/v1/namespaces/${target.namespace}/pods/asker` });
  },
};

async function logBytes(dataDir: string): Promise<number> {
  const names = (await readdir(dataDir)).filter((name) => name.startsWith("orlop.log"));
  const sizes = await Promise.all(names.map(async (name) => (await stat(path.join(dataDir, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
