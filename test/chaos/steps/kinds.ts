import type { StepKinds } from '../history.ts';
import { AGENT_STEPS } from './agents.ts';
import { CLUSTER_STEPS } from './cluster.ts';
import { MAINTENANCE_STEPS } from './maintenances.ts';
import { NODE_STEPS } from './nodes.ts';
import { POD_STEPS } from './pods.ts';
import { REQUEST_STEPS } from './requests.ts';

/** All kinds of steps, by the name under which a history has them. */
export const STEP_KINDS: StepKinds = {
  ...NODE_STEPS,
  ...POD_STEPS,
  ...MAINTENANCE_STEPS,
  ...REQUEST_STEPS,
  ...CLUSTER_STEPS,
  ...AGENT_STEPS,
};
