import { type Resource } from "#api/resource.ts";
import { type Answer, type Context } from "../pipeline.ts";
import { readObject } from "./body.ts";
import { writeOptions } from "./options.ts";
import { createObject, type WriteDeps } from "./write.ts";

export async function createEndpoint(deps: WriteDeps, context: Context, resource: Resource): Promise<Answer> {
  const options = writeOptions(context, "CreateOptions");
  const object = await readObject(context, resource, { fieldValidation: options.fieldValidation, defaults: true });
  const { namespace } = context.info;
  const write = { context, resource, subresource: "", namespace, name: object.metadata.name ?? "", options };
  const encoded = await createObject(deps, write, object);
  return { type: "object", status: 201, resource, encoded };
}
