import { Namespace } from "#api/core/namespace.ts";
import { type Resource } from "#api/resource.ts";
import { readObject } from "#server/input/body.ts";
import { writeOptions } from "#server/input/options.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { updateObject } from "#server/write/update.ts";
import { type Write, type WriteDeps } from "#server/write/write.ts";

/** PUT namespaces/NAME/finalize: changes only spec.finalizers. Removing the last one deletes the namespace. */
export const finalizeEndpoint =
  (deps: WriteDeps) =>
  async (context: Context, resource: Resource): Promise<Answer> => {
    const options = writeOptions(context, "UpdateOptions");
    const sent = await readObject(context, Namespace, options);
    const { name } = context.info;
    const write: Write<Namespace> = {
      context,
      resource: Namespace,
      subresource: "finalize",
      namespace: "",
      name,
      options,
      trusted: true,
    };
    const encoded = await updateObject(deps, write, (current) => ({
      ...current,
      metadata: {
        ...current.metadata,
        ...(sent.metadata.resourceVersion ? { resourceVersion: sent.metadata.resourceVersion } : {}),
      },
      spec: { ...current.spec, finalizers: sent.spec.finalizers ?? [] },
    }));
    return { type: "object", status: 200, resource, encoded };
  };
