/** Every account of the product, in the order of docs/reference/security.md. */
import type { Account } from './account.ts';
import { CONTROLLER } from './rights/controller.ts';
import { AGENT, RELEASE } from './rights/node.ts';
import { PEOPLE } from './rights/people.ts';

export const ACCOUNTS: readonly Account[] = [AGENT, RELEASE, CONTROLLER, ...PEOPLE];
