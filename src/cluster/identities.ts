import { type UserInfo } from "#api/exchange.ts";
import { serviceAccountGroups, serviceAccountName } from "#server/authenticate/service-account-claims.ts";
import { controllerRoleTexts } from "#server/authorize/bootstrap/bootstrap-controllers.ts";
import { roleTexts } from "#server/authorize/bootstrap/bootstrap-policy.ts";

/**
 * The users that the components act as: upstream's names, with the rights of upstream's bootstrap roles. None of them is in
 * system:masters.
 */
const systemUser = (name: string, ...groups: string[]): UserInfo => ({
  name,
  groups: [...groups, "system:authenticated"],
});

/** A service account in kube-system, such as `deployment-controller`. */
const systemAccount = (account: string): UserInfo =>
  systemUser(serviceAccountName("kube-system", account), ...serviceAccountGroups("kube-system"));

/** Each controller acts as its own service account. One without rules would have every write refused. */
export function controllerUser(account: string): UserInfo {
  if (account === "kube-controller-manager") return controllerManagerUser;
  // Two of them have rights in kube-system only.
  if (controllerRoleTexts[account] || roleTexts[`kube-system/system:controller:${account}`])
    return systemAccount(account);
  throw new Error(`the controller account ${account} has no rules in bootstrap-controllers.ts`);
}
/** For the informers that the controllers share, where those are not the server's own caches, and for token Secrets. */
export const controllerManagerUser = systemUser("system:kube-controller-manager");
export const schedulerUser = systemUser("system:kube-scheduler");
/** Publishes the Service of cluster DNS. */
export const dnsUser = systemAccount("kube-dns");
/** Makes volumes that are directories of a node. */
export const provisionerUser = systemAccount("local-volume-provisioner");
/** Serves Ingresses and Gateways. */
export const ingressUser = systemAccount("orlop-ingress");
/** The kubelet of a node. */
export const nodeUser = (name: string): UserInfo => systemUser(`system:node:${name}`, "system:nodes");
