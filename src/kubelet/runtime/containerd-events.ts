import { type GrpcClient, rpc } from "#lib/proto/grpc/client.ts";
import { field, message, nested, repeated } from "#lib/proto/grpc/message.ts";

/** An event of a container's task, which is its main process. */
export interface TaskEvent {
  readonly type: "started" | "exited" | "oom" | "deleted";
  readonly containerId: string;
}

/** containerd's own events, which older versions have too, unlike CRI's. Ends with the connection. */
export async function* taskEvents(client: GrpcClient, signal: AbortSignal): AsyncGenerator<TaskEvent, void> {
  for await (const { topic, event } of client.stream(subscribe, { filters: [filter] }, { signal })) {
    const read = readers[topic];
    const told = read && event ? read(event.value) : undefined;
    if (told) yield told;
  }
}

const filter = `namespace==k8s.io,topic~="^/tasks/(start|exit|oom|delete)$"`;

const Any = message({ typeUrl: field(1, "string"), value: field(2, "bytes") });
const Envelope = message({
  namespace: field(2, "string"),
  topic: field(3, "string"),
  event: nested(4, Any),
});
const SubscribeRequest = message({ filters: repeated(1, "string") });
const subscribe = rpc("/containerd.services.events.v1.Events/Subscribe", SubscribeRequest, Envelope);

const TaskStart = message({ containerId: field(1, "string") });
const TaskExit = message({ containerId: field(1, "string"), id: field(2, "string") });
const TaskOom = message({ containerId: field(1, "string") });
const TaskDelete = message({ containerId: field(1, "string"), id: field(5, "string") });

const readers: Readonly<Record<string, (bytes: Uint8Array) => TaskEvent | undefined>> = {
  "/tasks/start": (bytes) => ({ type: "started", containerId: TaskStart.decode(bytes).containerId }),
  "/tasks/exit": (bytes) => mainProcess("exited", TaskExit.decode(bytes)),
  "/tasks/oom": (bytes) => ({ type: "oom", containerId: TaskOom.decode(bytes).containerId }),
  "/tasks/delete": (bytes) => mainProcess("deleted", TaskDelete.decode(bytes)),
};

/** A command in a container has its own id; the main process has the container's id, or none. */
function mainProcess(type: TaskEvent["type"], { containerId, id }: Record<"containerId" | "id", string>) {
  return id === "" || id === containerId ? { type, containerId } : undefined;
}
