import { type Authorizer, type Decision, noOpinion } from "./authorizer.ts";

export const privilegedGroup = "system:masters";

const allowed: Decision = { verdict: "allow", reason: "" };

/** Members of system:masters may do anything, even when every role is gone. */
export const privileged: Authorizer = {
  name: "privileged-group",
  authorize: ({ groups }) => (groups.includes(privilegedGroup) ? allowed : noOpinion),
};
