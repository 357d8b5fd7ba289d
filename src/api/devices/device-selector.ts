import { isObject } from "#lib/data/json-object.ts";
import { inline, nullable, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { any, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { eachUpTo } from "./bounded-lists.ts";
import { validateDriverName } from "./device-names.ts";

const object = inPackage("resource/v1");

export const DeviceSelector = object("DeviceSelector", "A condition that a device must meet.", {
  cel: object.nullable(1, "CELDeviceSelector", "A condition on a device, as a CEL expression.", {
    expression: present(1, string(), "CEL expression that is true for a suitable device, at most 10240 bytes."),
  }),
});
export interface DeviceSelector extends Infer<typeof DeviceSelector> {}

const OpaqueDeviceConfiguration = object("OpaqueDeviceConfiguration", "Settings that only one driver understands.", {
  driver: present(1, string(), "Name of the driver that the settings are for, such as gpu.example.com."),
  parameters: present(
    2,
    any({ name: "runtime.RawExtension", opaque: true }),
    "Settings for the driver: a JSON object of at most 10240 bytes, usually with kind and apiVersion.",
  ),
});
interface OpaqueDeviceConfiguration extends Infer<typeof OpaqueDeviceConfiguration> {}

/** Settings for a driver, which are flat in JSON. `tag` is the number of their message in protobuf. */
export const configurationFields = (tag: number) =>
  inline(tag, { opaque: nullable(1, OpaqueDeviceConfiguration, "Settings that only the named driver understands.") });

const maxExpressionBytes = 10 * 1024;
const maxParameterBytes = 10 * 1024;

/** The server compiles expressions later, also an empty one. */
export function validateSelectors(selectors: Cursor<readonly DeviceSelector[] | undefined>): void {
  eachUpTo(selectors, 32, (at) => {
    if (!at.value.cel) at.field("cel").missing();
    at.on("cel", (at) => {
      const expression = at.field("expression");
      if (Buffer.byteLength(expression.value) > maxExpressionBytes) expression.tooLong(maxExpressionBytes);
    });
  });
}

export function validateConfiguration(at: Cursor<{ readonly opaque?: OpaqueDeviceConfiguration }>): void {
  if (!at.value.opaque) at.field("opaque").missing();
  at.on("opaque", (at) => {
    validateDriverName(at.field("driver"));
    validateJsonObject(at.field("parameters"), maxParameterBytes);
  });
}

/** Arbitrary JSON that must be an object of a limited size. */
export function validateJsonObject(at: Cursor, maxBytes: number): void {
  const { value } = at;
  if (value === undefined || value === null) at.missing();
  else if (Buffer.byteLength(JSON.stringify(value)) > maxBytes) at.tooLong(maxBytes);
  else if (!isObject(value)) at.invalid("must be a valid JSON object", "<value omitted>");
}
