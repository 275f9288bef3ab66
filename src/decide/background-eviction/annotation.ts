/** The annotation of a pod that somebody evicts in the background (KEP-1397), and since when the pod has it. */
import type { ManagedFields, ObjectMeta } from '../../api/meta.ts';
import { EVICTION_IN_PROGRESS_ANNOTATION } from '../../api/names.ts';
import { timeOf } from '../time.ts';

const FIELD = `f:${EVICTION_IN_PROGRESS_ANNOTATION}`;

/** Whether the pod is annotated as being evicted in the background, whoever evicts it. */
export function isAnnotatedInProgress({ annotations }: ObjectMeta): boolean {
  return annotations?.[EVICTION_IN_PROGRESS_ANNOTATION] !== undefined;
}

/** The entries of managedFields whose writers wrote the annotation, with nothing else of what they wrote. */
export function annotationWrites({ managedFields = [] }: ObjectMeta): readonly ManagedFields[] {
  const fieldsV1 = { 'f:metadata': { 'f:annotations': { [FIELD]: {} } } };
  return managedFields
    .filter((entry) => entry.fieldsV1?.['f:metadata']?.['f:annotations']?.[FIELD] !== undefined)
    .map(({ manager, time }) => ({
      ...(manager === undefined ? {} : { manager }),
      ...(time === undefined ? {} : { time }),
      fieldsV1,
    }));
}

/**
 * Since when the annotation is there, in milliseconds since the epoch, where it is first seen at `seenAt`. A writer's time is that
 * of its last write of anything, and clients may write any time: only an earlier one than `seenAt` counts.
 */
export function annotatedSince(metadata: ObjectMeta, seenAt: number): number {
  const written = annotationWrites(metadata).flatMap(({ time }) => timeOf(time) ?? []);
  return Math.min(seenAt, ...written);
}
