import packageJson from '../package.json' with { type: 'json' };

/** Set by the bundler: the commit that the bundle was made from. */
declare const NODEMAINT_COMMIT: string | undefined;

/** The version of this program. */
export const VERSION: string = packageJson.version;

/** The commit of the bundle that runs, with "-dirty" where its sources had been changed; '' where the sources run. */
export function commit(): string {
  return typeof NODEMAINT_COMMIT === 'string' ? NODEMAINT_COMMIT : '';
}

/** How much of a commit is shown with a version. */
const SHORT = 12;

/** The version with the commit of the bundle that runs, such as 0.1.0+2c3e88c0b1aa, by which two builds of one version differ. */
export function buildVersion(): string {
  const [hash = '', ...changed] = commit().split('-');
  return hash === '' ? VERSION : `${VERSION}+${[hash.slice(0, SHORT), ...changed].join('-')}`;
}
