import { infoOf, type OpenApiOptions, securityScheme } from "./openapi.ts";
import { type Json } from "./openapi-definitions.ts";
import { type List, type PartsFormat } from "./openapi-parts.ts";

const member: PartsFormat["member"] = (_, name, value) =>
  Buffer.from(`${JSON.stringify(name)}:${JSON.stringify(value)}`);

/** The v2 document as JSON. */
export const jsonPartsV2: PartsFormat = {
  flavor: "v2",
  member,
  document({ paths, definitions, parameters }, options) {
    const security = [{ BearerToken: [] }];
    return Buffer.concat([
      opened({ swagger: "2.0", info: infoOf(options) }),
      ...[
        ...list("paths", paths),
        comma,
        ...list("definitions", definitions),
        comma,
        ...list("parameters", parameters),
      ],
      closed({ securityDefinitions: { BearerToken: securityScheme }, security }),
    ]);
  },
};

/** A v3 document as JSON. */
export const jsonPartsV3: PartsFormat = {
  flavor: "v3",
  member,
  document({ paths, definitions }, options: OpenApiOptions) {
    return Buffer.concat([
      opened({ openapi: "3.0.0", info: infoOf(options) }),
      ...[...list("paths", paths), Buffer.from(`,"components":{`), ...list("schemas", definitions)],
      closed({ securitySchemes: { BearerToken: securityScheme } }),
      Buffer.from("}"),
    ]);
  },
};

const comma = Buffer.from(",");

/** An object to which more is added. */
const opened = (head: Json): Uint8Array => Buffer.from(`${JSON.stringify(head).slice(0, -1)},`);
/** The rest of an object that has something already. */
const closed = (tail: Json): Uint8Array => Buffer.from(`,${JSON.stringify(tail).slice(1)}`);

function list(name: List | "schemas", members: readonly Uint8Array[]): Uint8Array[] {
  const inner = members.flatMap((each, index) => (index > 0 ? [comma, each] : [each]));
  return [Buffer.from(`${JSON.stringify(name)}:{`), ...inner, Buffer.from("}")];
}
