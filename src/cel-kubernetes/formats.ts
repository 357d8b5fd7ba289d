import {
  dns1035Label,
  dns1123Label,
  dns1123Subdomain,
  labelValue,
  maskTrailingDash,
  qualifiedName,
} from "#api/meta/names.ts";
import { type FunctionDeclaration, type Library, memberOverload, overload } from "#cel/declare/function.ts";
import { listType, optionalType, stringType, structType, type Type } from "#cel/types/type.ts";
import { ArrayList } from "#cel/values/collections.ts";
import { parseTimestamp } from "#cel/values/timestamp.ts";
import { isError, noValue, OpaqueValue, OptionalValue } from "#cel/values/value.ts";
import { parseGoUrl } from "#lib/net/go-url.ts";

const formatType: Type = structType("kubernetes.NamedFormat", { field: () => undefined });

/** A format of text. `patternSize` is how long a pattern for it would be, which sets the cost of a check. */
export class FormatValue extends OpaqueValue {
  readonly type = formatType;
  readonly name: string;
  readonly patternSize: number;
  readonly faults: (text: string) => readonly string[];
  constructor(name: string, patternSize: number, faults: (text: string) => readonly string[]) {
    super();
    this.name = name;
    this.patternSize = patternSize;
    this.faults = faults;
  }
  equals(other: OpaqueValue): boolean {
    return other instanceof FormatValue && other.name === this.name;
  }
}

const valid = (isValid: (text: string) => boolean, fault: string) => (text: string) => (isValid(text) ? [] : [fault]);
const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const isTime = (text: string): boolean => {
  const time = parseTimestamp(text);
  return time !== undefined && !isError(time);
};

function urlFaults(text: string): readonly string[] {
  const parts = parseGoUrl(text);
  if ("fault" in parts) return [parts.fault];
  const isAbsolute = parts.scheme !== "" || text.startsWith("/");
  return isAbsolute ? [] : [`parse ${JSON.stringify(text.slice(0, 200))}: invalid URI for request`];
}

/** The formats by name. In a prefix the dash at the end is allowed: the name goes on behind it. */
const formats: readonly FormatValue[] = [
  new FormatValue("dns1123Label", 30, dns1123Label.all),
  new FormatValue("dns1123Subdomain", 60, dns1123Subdomain.all),
  new FormatValue("dns1035Label", 30, dns1035Label.all),
  new FormatValue("qualifiedName", 60, qualifiedName.all),
  new FormatValue("dns1123LabelPrefix", 30, (text) => dns1123Label.all(maskTrailingDash(text))),
  new FormatValue("dns1123SubdomainPrefix", 60, (text) => dns1123Subdomain.all(maskTrailingDash(text))),
  new FormatValue("dns1035LabelPrefix", 30, (text) => dns1035Label.all(maskTrailingDash(text))),
  new FormatValue("labelValue", 40, labelValue.all),
  new FormatValue("uri", 1103, urlFaults),
  new FormatValue(
    "uuid",
    85,
    valid((text) => uuid.test(text), "does not match the UUID format"),
  ),
  new FormatValue(
    "byte",
    84,
    valid((text) => base64.test(text), "invalid base64"),
  ),
  new FormatValue(
    "date",
    123,
    valid((text) => /^\d{4}-\d\d-\d\d$/.test(text) && isTime(`${text}T00:00:00Z`), "invalid date"),
  ),
  new FormatValue("datetime", 123, valid(isTime, "invalid datetime")),
];
const byName = new Map(formats.map((format) => [format.name, format]));

const constants: readonly FunctionDeclaration[] = formats.map((format) => ({
  name: `format.${format.name}`,
  overloads: [overload(`format.${format.name}`, [], formatType, () => format)],
}));

/** Checking a character takes as long as writing so many. */
const formatWork = 8;

export const formatLibrary: Library = {
  types: [formatType],
  functions: [
    ...constants,
    {
      name: "validate",
      overloads: [
        memberOverload(
          "format-validate",
          [formatType, stringType],
          optionalType(listType(stringType)),
          (meter, format, text) => {
            meter.allocate(formatWork * (text as string).length);
            const faults = (format as FormatValue).faults(text as string);
            return faults.length === 0 ? noValue : new OptionalValue(new ArrayList(faults));
          },
        ),
      ],
    },
    {
      name: "format.named",
      overloads: [
        overload("format-named", [stringType], optionalType(formatType), (_, name) => {
          const format = byName.get(name as string);
          return format ? new OptionalValue(format) : noValue;
        }),
      ],
    },
  ],
};
