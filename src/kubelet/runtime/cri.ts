import { type Rpc, rpc } from "#lib/proto/grpc/client.ts";
import type { Message } from "#lib/proto/grpc/message.ts";
import * as cri from "./cri-messages.ts";
import * as stats from "./cri-stats-messages.ts";

const runtime = <In, Out>(name: string, request: Message<unknown, In>, response: Message<Out, never>): Rpc<In, Out> =>
  rpc(`/runtime.v1.RuntimeService/${name}`, request, response);
const images = <In, Out>(name: string, request: Message<unknown, In>, response: Message<Out, never>): Rpc<In, Out> =>
  rpc(`/runtime.v1.ImageService/${name}`, request, response);

/** The calls of CRI v1 that a kubelet makes. */
export const criCalls = {
  version: runtime("Version", cri.VersionRequest, cri.VersionResponse),
  status: runtime("Status", cri.StatusRequest, cri.StatusResponse),
  updateRuntimeConfig: runtime("UpdateRuntimeConfig", cri.UpdateRuntimeConfigRequest, cri.Empty),

  runPodSandbox: runtime("RunPodSandbox", cri.RunPodSandboxRequest, cri.PodSandboxId),
  stopPodSandbox: runtime("StopPodSandbox", cri.PodSandboxId, cri.Empty),
  removePodSandbox: runtime("RemovePodSandbox", cri.PodSandboxId, cri.Empty),
  podSandboxStatus: runtime("PodSandboxStatus", cri.PodSandboxStatusRequest, cri.PodSandboxStatusResponse),
  listPodSandbox: runtime("ListPodSandbox", cri.ListPodSandboxRequest, cri.ListPodSandboxResponse),

  createContainer: runtime("CreateContainer", cri.CreateContainerRequest, cri.ContainerId),
  startContainer: runtime("StartContainer", cri.ContainerId, cri.Empty),
  stopContainer: runtime("StopContainer", cri.StopContainerRequest, cri.Empty),
  removeContainer: runtime("RemoveContainer", cri.ContainerId, cri.Empty),
  listContainers: runtime("ListContainers", cri.ListContainersRequest, cri.ListContainersResponse),
  containerStatus: runtime("ContainerStatus", cri.ContainerStatusRequest, cri.ContainerStatusResponse),
  updateContainerResources: runtime("UpdateContainerResources", cri.UpdateContainerResourcesRequest, cri.Empty),
  checkpointContainer: runtime("CheckpointContainer", cri.CheckpointContainerRequest, cri.Empty),
  reopenContainerLog: runtime("ReopenContainerLog", cri.ContainerId, cri.Empty),

  execSync: runtime("ExecSync", cri.ExecSyncRequest, cri.ExecSyncResponse),
  exec: runtime("Exec", cri.ExecRequest, cri.StreamingUrl),
  attach: runtime("Attach", cri.AttachRequest, cri.StreamingUrl),
  portForward: runtime("PortForward", cri.PortForwardRequest, cri.StreamingUrl),

  containerStats: runtime("ContainerStats", cri.ContainerId, stats.ContainerStatsResponse),
  listContainerStats: runtime("ListContainerStats", stats.ListContainerStatsRequest, stats.ListContainerStatsResponse),
  podSandboxStats: runtime("PodSandboxStats", cri.PodSandboxId, stats.PodSandboxStatsResponse),
  listPodSandboxStats: runtime(
    "ListPodSandboxStats",
    stats.ListPodSandboxStatsRequest,
    stats.ListPodSandboxStatsResponse,
  ),

  imageStatus: images("ImageStatus", stats.ImageStatusRequest, stats.ImageStatusResponse),
  listImages: images("ListImages", stats.ListImagesRequest, stats.ListImagesResponse),
  pullImage: images("PullImage", stats.PullImageRequest, stats.PullImageResponse),
  removeImage: images("RemoveImage", stats.RemoveImageRequest, cri.Empty),
  imageFsInfo: images("ImageFsInfo", cri.Empty, stats.ImageFsInfoResponse),
} as const;
