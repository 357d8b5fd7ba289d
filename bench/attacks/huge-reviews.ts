import type { Attack } from "./attack.ts";

/** Everybody may ask what they may do, with as much text as a body can hold. */
export const attack: Attack = {
  name: "huge access reviews",
  claim: "413 above 256 KiB; shorter ones are answered, and not kept in memory",
  needs: "server",

  async run({ ask }, signal) {
    const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let asked = 0;
    while (!signal.aborted) {
      const isHuge = asked % 2 === 0;
      const namespace = `${"n".repeat(isHuge ? 2_900_000 : 250_000)}${asked}`;
      const spec = { resourceAttributes: { verb: "get", resource: "pods", namespace } };
      const { status } = await ask({ method: "POST", path, body: { spec } });
      if (status !== (isHuge ? 413 : 201) && status !== 429) throw new Error(`the review was answered with ${status}`);
      asked++;
    }
    return `${asked} asked`;
  },
};
