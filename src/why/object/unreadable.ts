import { type Explanation } from "../explanation.ts";
import { type UnreadableFacts } from "../facts.ts";

/** What the API server says of an object that it cannot decrypt. */
export const isUnreadable = (message: string): boolean => message.includes("unable to transform key ");

/** An object that is stored encrypted, and whose key the API server does not have. */
export function explainUnreadable({ resource, name, message }: UnreadableFacts): Explanation {
  const why = message.replace(/^Internal error occurred: /, "");
  return {
    hop: undefined,
    state: "Unreadable",
    headline: `${resource.kind} ${name} exists, but the API server cannot decrypt what is stored: ${why}`,
    evidence: ["lists show only its name, and controllers and pods go without it"],
    advice: [
      "Put the key with which it was written back into the file of --encryption-provider-config, after the current one. The server tries again by itself once it has the key.",
      "With a key service, check that its plugin runs and still has the key.",
      "If the key is lost, so is the value: delete the object with ignoreStoreReadErrorWithClusterBreakingPotential in the DeleteOptions, and create it again.",
    ],
  };
}
