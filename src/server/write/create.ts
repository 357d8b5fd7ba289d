import { type ApiObject, type Resource } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { readObject } from "./body.ts";
import { writeOptions } from "./options.ts";
import { createObject, type WriteDeps } from "./write.ts";

export async function createEndpoint(deps: WriteDeps, context: Context, resource: Resource): Promise<Answer> {
  const options = writeOptions(context, "CreateOptions");
  const object = await readObject(context, resource, { fieldValidation: options.fieldValidation, defaults: true });
  context.steps.about?.(object.metadata.name ?? "");
  refuseVersion(object);
  const { namespace } = context.info;
  const write = { context, resource, subresource: "", namespace, name: object.metadata.name ?? "", options };
  const encoded = await createObject(deps, write, object);
  return { type: "object", status: 201, resource, encoded };
}

/** Upstream's words, and no reason: only its store finds out. */
function refuseVersion({ metadata: { resourceVersion } }: ApiObject): void {
  if (!resourceVersion || resourceVersion === "0") return;
  throw new StatusError("", "resourceVersion should not be set on objects to be created");
}
