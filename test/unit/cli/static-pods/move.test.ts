import assert from 'node:assert/strict';
import { it } from 'node:test';
import { whyParkedAgain } from '../../../../src/cli/static-pods/move.ts';

it('nobody is told to complete the maintenance of a shutdown so that manifests stay where they were put back', () => {
  assert.match(whyParkedAgain('m', 'n'), /nodemaintenance\/m drains .* nodemaint complete nm\/m$/);
  assert.match(whyParkedAgain('shutdown-n-0', 'n'), /nodemaintenance\/shutdown-n-0 drains .*see: nodemaint status$/);
});
