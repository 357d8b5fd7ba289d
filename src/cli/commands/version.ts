import { readFile } from "node:fs/promises";
import { kubernetesVersion } from "#api/version.ts";
import { parseFlags, refuseArguments } from "../command.ts";

export const flags = {} as const;

/** Shows the versions of Orlop, of the Kubernetes API, and of the Node that runs both. */
export async function run(args: readonly string[]): Promise<number> {
  refuseArguments("version", parseFlags(args, flags).positionals, "orlop version");
  const file = new URL("../../../package.json", import.meta.url);
  const { version } = JSON.parse(await readFile(file, "utf8")) as { version: string };
  process.stdout.write(`orlop ${version} (Kubernetes ${kubernetesVersion}, Node ${process.versions.node})\n`);
  return 0;
}
