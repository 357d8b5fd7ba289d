import type { Attack } from "./attack.ts";

/** Bodies whose keys have the same length and are too long for V8 to hash, so that each is compared in full. */
export const attack: Attack = {
  name: "JSON keys of 17,000 characters",
  claim: "400 before they are parsed",
  needs: "server",

  async run({ ask, namespace }, signal) {
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const prefix = "k".repeat(17_000);
    let refused = 0;
    while (!signal.aborted) {
      const keys = Array.from({ length: 160 }, (_, at) => `${prefix}${String(refused * 1000 + at).padStart(12, "0")}`);
      const body = `{"metadata":{"name":"x"},"data":{${keys.map((key) => `"${key}":"v"`).join()}}}`;
      const { status } = await ask({ method: "POST", path, body, type: "application/json" });
      if (status !== 400 && status !== 429) throw new Error(`the body was answered with ${status}`);
      refused++;
    }
    return `${refused} refused`;
  },
};
