/** The version of the Kubernetes API that we implement, in the form that `kubectl version` reads. */
export const kubernetesVersion = "v1.36.4";
