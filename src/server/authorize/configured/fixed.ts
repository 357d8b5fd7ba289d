import { type Authorizer } from "../authorizer.ts";

/** Allows everything, for clusters without secrets. */
export const alwaysAllow: Authorizer = {
  name: "alwaysallow",
  authorize: () => ({ verdict: "allow", reason: "" }),
  rulesFor: () => ({
    rules: [
      { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
      { verbs: ["*"], nonResourceURLs: ["*"] },
    ],
    faults: [],
  }),
};

/** Refuses everything that no earlier authoriser allows. */
export const alwaysDeny: Authorizer = {
  name: "alwaysdeny",
  authorize: () => ({ verdict: "no opinion", reason: "Everything is forbidden." }),
};
