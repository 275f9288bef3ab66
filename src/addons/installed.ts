/** What the manifests of the add-ons install, as far as `nodemaint check` looks for it: the only file that names all of them. */
import type { InstalledAddon } from '../show/checks/installed.ts';

/** One row for each folder of the manifests that has policies, beside the core's own. */
export const INSTALLED_ADDONS: readonly InstalledAddon[] = [
  {
    folder: 'surge',
    accounts: ['nodemaint-surge'],
    roleBindings: ['nodemaint-surge'],
    validating: ['nodemaint-surge-deployments', 'nodemaint-surge-pods', 'nodemaint-surge-eviction-requests'],
    mutating: [],
  },
];
