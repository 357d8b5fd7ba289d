import { type Library, overload } from "../declare/function.ts";
import { bytesType, stringType } from "../types/type.ts";
import { CelError } from "../values/value.ts";

const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** `base64.encode(bytes)` and `base64.decode(string)`. Padding may be missing. */
export const encoderLibrary: Library = {
  functions: [
    {
      name: "base64.decode",
      overloads: [
        overload("base64_decode_string", [stringType], bytesType, (meter, text) => {
          meter.allocate((text as string).length);
          const isValid = base64.test(text as string) && (text as string).replace(/=+$/, "").length % 4 !== 1;
          return isValid ? Buffer.from(text as string, "base64") : new CelError("illegal base64 data");
        }),
      ],
    },
    {
      name: "base64.encode",
      overloads: [
        overload("base64_encode_bytes", [bytesType], stringType, (meter, bytes) => {
          meter.allocate(2 * (bytes as Uint8Array).length);
          return Buffer.from(bytes as Uint8Array).toString("base64");
        }),
      ],
    },
  ],
};
