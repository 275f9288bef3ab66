import type { Deployment } from '../../../../src/addons/surge/api/deployment.ts';
import { SURGE_ANNOTATION } from '../../../../src/addons/surge/api/names.ts';
import { surgedReplicas, surgePatch, surgeRecordOf, withoutPod } from '../../../../src/addons/surge/decide/record.ts';
import { mutatedJson } from '../../mutate.ts';
import { assertFinite, type FuzzTarget, textTarget } from '../../target.ts';

const TIME = '2026-07-01T12:00:00Z';

/** What a Deployment says of the pods that were added to it. */
export const TARGETS: readonly FuzzTarget[] = [
  textTarget('surge-record', mutatedJson({ replicas: 3, pods: { u1: TIME, u2: TIME } }), (text) => {
    const metadata = { name: 'd', namespace: 'a', annotations: { [SURGE_ANNOTATION]: text } };
    const deployment = { metadata, spec: { replicas: 5 } } as unknown as Deployment;
    const record = surgeRecordOf(deployment);
    if (record === undefined) return;
    assertFinite([record.replicas, [...record.pods], surgedReplicas(record), withoutPod(deployment, 'u1')], 'record');
    assertFinite(surgePatch(deployment, { record }), 'patch');
  }),
];
