import type { ContainerRuntime } from "#kubelet/runtime/runtime.ts";
import type { Clock } from "#lib/async/clock.ts";
import { goArchitecture } from "#lib/process/go-architecture.ts";
import { runCommand } from "#lib/process/processes.ts";
import { buildImageArchive, type ImageArchive } from "./image-archive.ts";
import { pauseProgram } from "./pause-program.ts";

/** The image that holds a pod's namespaces. It is built here and never pulled. */
export const pauseImageName = "orlop.dev/pause:1";

export interface ImportDeps {
  /** containerd's socket, as a path. */
  readonly socket: string;
  readonly snapshotter: string;
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
}

/** Imports an image into containerd, and waits until pods can use it. */
export async function importImage(deps: ImportDeps, archive: ImageArchive, signal?: AbortSignal): Promise<void> {
  const args = ["--address", deps.socket, "--namespace", "k8s.io", "images", "import"];
  await runCommand("ctr", [...args, "--snapshotter", deps.snapshotter, "-"], { input: archive.bytes, signal });
  // containerd's CRI plugin learns of a new image by an event.
  for (let pauseMs = 1; pauseMs < 4096; pauseMs *= 2) {
    const image = await deps.runtime.imageStatus(archive.name, signal);
    if (image?.id === archive.id) return;
    await deps.clock.sleep(pauseMs, signal);
  }
  throw new Error(`containerd does not list the imported image ${archive.name}`);
}

/** Imports the pause image if it is missing. */
export async function ensurePauseImage(deps: ImportDeps, signal?: AbortSignal): Promise<void> {
  const archive = buildPauseImage(goArchitecture());
  const held = await deps.runtime.imageStatus(pauseImageName, signal);
  if (held?.id !== archive.id) await importImage(deps, archive, signal);
}

export function buildPauseImage(architecture: string): ImageArchive {
  const machine = architecture === "arm64" ? "arm64" : "amd64";
  return buildImageArchive({
    name: pauseImageName,
    architecture: machine,
    files: [{ path: "pause", content: pauseProgram(machine), mode: 0o755 }],
    config: { entrypoint: ["/pause"], user: "65535:65535" },
  });
}
