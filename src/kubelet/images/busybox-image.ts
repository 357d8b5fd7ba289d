import { readFile } from "node:fs/promises";
import { goArchitecture } from "#lib/process/go-architecture.ts";
import { runCommand } from "#lib/process/processes.ts";
import { buildImageArchive, type ImageArchive } from "./image-archive.ts";

/** Builds a small image from the machine's static BusyBox, with each of its commands in `/bin`. */
export async function buildBusyboxImage(name: string, program = "/bin/busybox"): Promise<ImageArchive> {
  const content = await readFile(program);
  const { stdout } = await runCommand(program, ["--list"]);
  const commands = stdout.split("\n").filter((command) => command !== "" && command !== "busybox");
  return buildImageArchive({
    name,
    architecture: goArchitecture(),
    files: [
      { path: "bin/busybox", content, mode: 0o755 },
      ...commands.map((command) => ({ path: `bin/${command}`, type: "symlink" as const, target: "busybox" })),
      {
        path: "etc/passwd",
        content: Buffer.from("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"),
      },
      { path: "etc/group", content: Buffer.from("root:x:0:\nnobody:x:65534:\n") },
      { path: "root", type: "directory", mode: 0o700 },
      { path: "tmp", type: "directory", mode: 0o1777 },
    ],
    config: { cmd: ["sh"] },
  });
}
