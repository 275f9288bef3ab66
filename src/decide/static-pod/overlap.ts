/** Whether `inner` is the directory `outer` or lies in it; both are absolute, without `..` and links. */
export function isInDirectory(inner: string, outer: string): boolean {
  const end = (text: string): string => (text.endsWith('/') ? text : `${text}/`);
  return end(inner).startsWith(end(outer));
}

/**
 * Why manifests cannot be parked in this directory, as the end of a sentence; undefined if they can. If both were one
 * directory, a manifest would be moved onto itself again and again, and if the parked directory contained the other, the
 * files beside the manifests would count as parked manifests. `staticPodPath` may be the one file that the kubelet reads.
 */
export function parkedPathProblem(staticPodPath: string, parkedPath: string): string | undefined {
  if (staticPodPath === parkedPath) return `is the directory of the static pods itself, ${staticPodPath}`;
  if (isInDirectory(parkedPath, staticPodPath)) return `lies in the directory of the static pods, ${staticPodPath}`;
  if (isInDirectory(staticPodPath, parkedPath)) return `contains the static pods, ${staticPodPath}`;
  return undefined;
}
