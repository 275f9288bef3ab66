/**
 * Whether two versions are of one build, such as 0.1.0+2c3e88c0b1aa. One that does not say its commit, as the sources and older
 * programs do not, may be any build of its version.
 */
export function isSameBuild(a: string, b: string): boolean {
  const [first = '', firstCommit] = a.split('+');
  const [second = '', secondCommit] = b.split('+');
  const differs = firstCommit !== undefined && secondCommit !== undefined && firstCommit !== secondCommit;
  return first === second && !differs;
}
