import * as z from 'zod';

/** As the CRD of NodeMaintenance bounds them: what it refuses would be noticed only in the shutdown. */
const labelKey = z
  .string()
  .max(317)
  .regex(
    /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/,
    'must be the key of a label',
  );
const labelValue = z.string().max(63);

const requirement = z
  .strictObject({
    key: labelKey,
    operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: z.array(labelValue).max(100).exactOptional(),
  })
  .refine(({ operator, values = [] }) => (operator === 'In' || operator === 'NotIn') === values.length > 0, {
    path: ['values'],
    error: 'In and NotIn need values; Exists and DoesNotExist take none',
  });

/** An entry of a drain plan as people write it, in the configuration or in a file; the API server accepts each that this does. */
export const drainPlanEntrySchema = z.strictObject({
  podType: z.enum(['Default', 'DaemonSet', 'Static']).describe('the type of the pods that the entry selects'),
  podPriority: z.int().min(-2_147_483_648).max(2_147_483_647).describe('selects pods with this or a lower priority'),
  podSelector: z
    .strictObject({
      matchLabels: z
        .record(z.string(), labelValue)
        .refine((labels) => Object.keys(labels).length <= 50, 'has more than 50 labels')
        .exactOptional(),
      matchExpressions: z.array(requirement).max(50).exactOptional(),
    })
    .exactOptional()
    .describe('selects pods by their labels'),
});
