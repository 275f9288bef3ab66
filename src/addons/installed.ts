/** What the manifests of the add-ons install, as far as `nodemaint check` looks for it: the only file that names all of them. */
import type { InstalledAddon } from '../show/checks/installed.ts';

/** One row for each folder of the manifests that has policies, beside the core's own. */
export const INSTALLED_ADDONS: readonly InstalledAddon[] = [
  {
    folder: 'lifecycle',
    accounts: [],
    roleBindings: ['nodemaint-lifecycle', 'nodemaint-lifecycle-agent', 'nodemaint-lifecycle-upstream'],
    validating: [
      'nodemaint-lifecycle-eviction-status',
      'nodemaint-lifecycle-own-requests',
      'nodemaint-lifecycle-request-status',
      'nodemaint-lifecycle-requesters',
    ],
    mutating: ['nodemaint-lifecycle-daemon-sets', 'nodemaint-lifecycle-static-pods'],
  },
  {
    folder: 'lifecycle-controllers',
    accounts: ['nodemaint-lifecycle'],
    roleBindings: ['nodemaint-lifecycle-controllers'],
    validating: [
      'nodemaint-lifecycle-controllers-pods',
      'nodemaint-lifecycle-controllers-evictions',
      'nodemaint-lifecycle-controllers-own-evictions',
      'nodemaint-lifecycle-controllers-events',
    ],
    mutating: [],
  },
  {
    folder: 'surge',
    accounts: ['nodemaint-surge'],
    roleBindings: ['nodemaint-surge'],
    validating: ['nodemaint-surge-deployments', 'nodemaint-surge-pods', 'nodemaint-surge-eviction-requests'],
    mutating: [],
  },
];
