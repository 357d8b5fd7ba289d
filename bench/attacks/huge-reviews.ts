import type { Attack } from "./attack.ts";

/** Everybody may ask what they may do, with as much text as a body can hold. */
export const attack: Attack = {
  name: "access reviews of 2.9 MB",
  claim: "answered, and not kept in memory",
  needs: "server",

  async run({ ask }, signal) {
    const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answered = 0;
    while (!signal.aborted) {
      const namespace = `${"n".repeat(2_900_000)}${answered}`;
      const spec = { resourceAttributes: { verb: "get", resource: "pods", namespace } };
      const { status } = await ask({ method: "POST", path, body: { spec } });
      if (status !== 201 && status !== 429) throw new Error(`the review was answered with ${status}`);
      answered++;
    }
    return `${answered} answered`;
  },
};
