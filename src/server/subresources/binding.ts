import { Binding } from "#api/core/binding.ts";
import { Pod } from "#api/core/pod.ts";
import { withCondition } from "#api/meta/condition.ts";
import { type Resource } from "#api/resource.ts";
import { badRequest, conflict, invalid } from "#api/status.ts";
import { timestamp } from "#lib/async/clock.ts";
import { type FieldError, invalidValue, requiredValue, root, unsupportedValue } from "#schema/field-error.ts";
import { readObject } from "#server/input/body.ts";
import { writeOptions } from "#server/input/options.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { updateObject } from "#server/write/update.ts";
import { type Write, type WriteDeps } from "#server/write/write.ts";

/** POST pods/NAME/binding, and the older POST bindings: assigns a pod to a node. */
export const bindingEndpoint =
  (deps: WriteDeps) =>
  async (context: Context, _resource: Resource): Promise<Answer> => {
    const options = writeOptions(context, "CreateOptions");
    const binding = await readObject(context, Binding, options);
    const { name = "" } = binding.metadata;
    if (context.info.resource === "pods" && name !== context.info.name) {
      throw badRequest("name in URL does not match name in Binding object");
    }
    const faults = [...validateBinding(binding)];
    if (faults.length > 0) throw invalid(Binding, name, faults);
    const { namespace } = context.info;
    const write: Write<Pod> = {
      context,
      resource: Pod,
      subresource: "binding",
      namespace,
      name,
      options,
      trusted: true,
      // Upstream records no manager for a binding.
      applied: true,
    };
    await updateObject(deps, write, (pod) => boundPod(pod, binding, timestamp(deps.clock.now())));
    return {
      type: "value",
      status: 201,
      value: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 },
    };
  };

/** Errors name this resource. */
const PodBinding = { ...Pod, plural: "pods/binding" };

function boundPod(pod: Pod, binding: Binding, now: string): Pod {
  const name = pod.metadata.name;
  const { uid, annotations, labels, resourceVersion } = binding.metadata;
  if (uid && uid !== pod.metadata.uid) {
    throw conflict(
      PodBinding,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${pod.metadata.uid}`,
    );
  }
  if (pod.metadata.deletionTimestamp)
    throw conflict(PodBinding, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  if (pod.spec.nodeName)
    throw conflict(PodBinding, name, `pod ${name} is already assigned to node ${JSON.stringify(pod.spec.nodeName)}`);
  if ((pod.spec.schedulingGates?.length ?? 0) > 0)
    throw conflict(PodBinding, name, `pod ${name} has non-empty .spec.schedulingGates`);
  const scheduled = { type: "PodScheduled", status: "True" as const, lastTransitionTime: now };
  const metadata = {
    ...pod.metadata,
    ...(annotations ? { annotations: { ...pod.metadata.annotations, ...annotations } } : {}),
    ...(labels ? { labels: { ...pod.metadata.labels, ...labels } } : {}),
    ...(resourceVersion ? { resourceVersion } : {}),
  };
  const { nominatedNodeName: _placed, ...status } = pod.status ?? {};
  return {
    ...pod,
    metadata,
    spec: { ...pod.spec, nodeName: binding.target.name ?? "" },
    status: { ...status, conditions: withCondition(status.conditions, scheduled) },
  };
}

function* validateBinding({ target }: Binding): Iterable<FieldError> {
  const path = root.child("target");
  if (target.kind && target.kind !== "Node")
    yield unsupportedValue(path.child("kind"), target.kind, ["Node", "<empty>"]);
  if (!target.name) yield requiredValue(path.child("name"));
  else if (target.name.includes("/")) yield invalidValue(path.child("name"), target.name, "may not contain '/'");
}
