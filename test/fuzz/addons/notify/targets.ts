import { readSent, sentText } from '../../../../src/addons/notify/decide/sent.ts';
import { shutdownReportOf } from '../../../../src/addons/notify/decide/report.ts';
import { bodyOf, templateProblem } from '../../../../src/addons/notify/decide/template.ts';
import { fieldsOf } from '../../../../src/addons/notify/decide/words.ts';
import { AGENT_STATUS_ANNOTATION } from '../../../../src/api/names.ts';
import { mutatedJson } from '../../mutate.ts';
import { assertFinite, type FuzzTarget, textTarget } from '../../target.ts';

const TIME = '2026-07-01T12:00:00Z';
const SENT = { maintenance: 'm', nodes: 'n1', reason: 'x', begunAt: 1, kinds: ['begun'], node: 'n1' };

/** What the add-on for messages reads: its own record, the report of a node, and a template of a person. */
export const TARGETS: readonly FuzzTarget[] = [
  textTarget('notify-record', mutatedJson(SENT), (text) => {
    const sent = readSent(text);
    if (sent === undefined) return;
    assertFinite(readSent(sentText(sent)), 'record');
    const fields = fieldsOf('u', sent, { kind: 'done', outcome: 'drained', blocking: [] }, '');
    JSON.parse(bodyOf(fields, 'slack', undefined));
  }),
  textTarget('notify-report', mutatedJson({ last: { result: 'forced', at: TIME } }), (text) => {
    assertFinite(
      shutdownReportOf({ metadata: { name: 'n', annotations: { [AGENT_STATUS_ANNOTATION]: text } } }),
      'report',
    );
  }),
  textTarget('notify-template', mutatedJson({ text: '{{text}}', x: { y: '{{nodes}}"' } }), (text) => {
    if (templateProblem(text) !== undefined) return;
    const fields = fieldsOf('u', { ...SENT, kinds: [] }, { kind: 'begun', outcome: 'draining', blocking: [] }, 'c');
    JSON.parse(bodyOf(fields, 'json', text));
  }),
];
