import { runCommand } from "./processes.ts";

/** The exit code of a machine that is not fully up, which includes one that is stopping. */
const okCodes = [0, 1];

/** Whether the machine's own manager, systemd, is about to stop it. False where there is none. */
export async function isMachineStopping(): Promise<boolean> {
  const { stdout } = await runCommand("systemctl", ["is-system-running"], { okCodes }).catch(() => ({ stdout: "" }));
  return stdout.trim() === "stopping";
}
