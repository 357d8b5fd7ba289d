import type { ContainerConfig, ContainerRuntime, SandboxConfig } from "#kubelet/runtime/runtime.ts";

const namespaces = { network: "pod", pid: "container", ipc: "pod" } as const;

/** The runtime's configuration of a pod. */
export const sandboxConfig = (parts: Partial<SandboxConfig> = {}): SandboxConfig => ({
  pod: { name: "web", namespace: "default", uid: "u" },
  attempt: 0,
  hostname: "web",
  logDirectory: "/logs",
  ports: [],
  labels: {},
  annotations: {},
  cgroupParent: "",
  sysctls: {},
  security: { namespaces },
  ...parts,
});

/** The runtime's configuration of a container in it. */
export const containerConfig = (parts: Partial<ContainerConfig> = {}): ContainerConfig => ({
  name: "main",
  attempt: 0,
  image: "web:1",
  imageName: "web:1",
  command: [],
  args: [],
  workingDir: "",
  env: [],
  mounts: [],
  devices: [],
  labels: {},
  annotations: {},
  logPath: "0.log",
  stdin: false,
  stdinOnce: false,
  tty: false,
  resources: {},
  security: { namespaces },
  ...parts,
});

/** Runs one pod with one container in the runtime. */
export async function startOnePod(
  runtime: ContainerRuntime,
): Promise<{ readonly sandboxId: string; readonly id: string }> {
  const sandbox = sandboxConfig();
  const sandboxId = await runtime.runSandbox(sandbox);
  await runtime.pullImage("web:1");
  const id = await runtime.createContainer({ sandboxId, config: containerConfig(), sandbox });
  await runtime.startContainer(id);
  return { sandboxId, id };
}
