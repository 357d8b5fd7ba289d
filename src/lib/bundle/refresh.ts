import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants, setPriority } from "node:os";
import path from "node:path";

/**
 * Builds the bundle of a checkout anew for the next start, in a process of its own with the lowest priority. Does nothing
 * where the builder is not installed.
 */
export function refreshBundle(root: string): void {
  const program = path.join(root, "package/prepare.ts");
  if (!existsSync(program) || !existsSync(path.join(root, "node_modules/esbuild"))) return;
  const args = ["--disable-warning=ExperimentalWarning", program];
  const child = spawn(process.execPath, args, { cwd: root, detached: true, stdio: "ignore" });
  child.on("error", () => {});
  child.unref();
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
}
