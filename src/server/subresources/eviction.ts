import { Pod } from "#api/core/pod.ts";
import { Eviction } from "#api/policy/eviction.ts";
import { type Resource } from "#api/resource.ts";
import { badRequest } from "#api/status.ts";
import { readObject } from "#server/input/body.ts";
import { writeOptions } from "#server/input/options.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { deleteObject } from "#server/write/delete.ts";
import { type Write, type WriteDeps } from "#server/write/write.ts";

/** POST pods/NAME/eviction: deletes the pod if nothing forbids its disruption. */
export const evictionEndpoint =
  (deps: WriteDeps) =>
  async (context: Context, _resource: Resource): Promise<Answer> => {
    const options = writeOptions(context, "CreateOptions");
    const eviction = await readObject(context, Eviction, options);
    const { namespace, name } = context.info;
    if (eviction.metadata.name && eviction.metadata.name !== name) {
      throw badRequest(`name in URL does not match name in Eviction object`);
    }
    const write: Write = { context, resource: Pod as unknown as Resource, subresource: "", namespace, name, options };
    await deleteObject(deps, write, eviction.deleteOptions ?? {});
    return {
      type: "value",
      status: 201,
      value: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 },
    };
  };
