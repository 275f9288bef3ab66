import packageJson from '../package.json' with { type: 'json' };

/** Set by the bundler: the commit that the bundle was made from. */
declare const NODEMAINT_COMMIT: string | undefined;

/** The version of this program. */
export const VERSION: string = packageJson.version;

/** The commit of the bundle that runs, with "-dirty" where its sources had been changed; '' where the sources run. */
export function commit(): string {
  return typeof NODEMAINT_COMMIT === 'string' ? NODEMAINT_COMMIT : '';
}
