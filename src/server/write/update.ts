import { type ApiObject, type Resource } from "#api/resource.ts";
import { isNotFound } from "#api/status.ts";
import { checkName, uidConflict } from "#server/endpoints/identity.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { readObject } from "./body.ts";
import { writeOptions } from "./options.ts";
import { createObject, updateObject, type Write, type WriteDeps } from "./write.ts";

export async function updateEndpoint(deps: WriteDeps, context: Context, resource: Resource): Promise<Answer> {
  const options = writeOptions(context, "UpdateOptions");
  const { namespace, name, subresource } = context.info;
  const write: Write = { context, resource, subresource, namespace, name, options };
  const read = (): Promise<ApiObject> =>
    readObject(context, resource, { fieldValidation: options.fieldValidation, defaults: true });
  // Decoded once for the usual case; a retry after a lost race needs a fresh one.
  let decoded: ApiObject | undefined = await read();
  checkName(decoded.metadata.name, name);
  try {
    const { encoded } = await updateObject(deps, write, async () => {
      const object = decoded ?? (await read());
      decoded = undefined;
      return object;
    });
    return { type: "object", status: 200, resource, encoded };
  } catch (error) {
    if (!isNotFound(error) || !resource.createOnUpdate || subresource !== "") throw error;
  }
  await deps.authorizeCreate(context);
  const object = await read();
  if (object.metadata.uid) throw uidConflict(resource, { metadata: { ...object.metadata, namespace } }, undefined);
  const encoded = await createObject(deps, write, object);
  return { type: "object", status: 201, resource, encoded };
}
