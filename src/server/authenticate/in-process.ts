import { type Authenticator } from "./authenticator.ts";

/** Callers in this process have the identity that the process gives them. */
export const inProcess: Authenticator = {
  name: "in-process",
  authenticate: ({ peer }) => peer.user,
};
