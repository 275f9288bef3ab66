import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { markRunning, unmarkRunning } from '../../../../src/agent/shutdown/unclean.ts';
import { openTestState } from '../../../support/agent/state.ts';
import { temporaryFolder } from '../../../support/folder.ts';

describe('the mark of a running agent', () => {
  it('the mark of a running agent tells that a boot ended under the agent, and not that the agent was restarted or ended', async (t) => {
    const folder = await temporaryFolder(t, 'state');
    const state = await openTestState(folder);
    assert.equal(await markRunning(state, 'boot-1'), false, 'the first start of all');
    assert.equal(await markRunning(state, 'boot-1'), false, 'killed and started again');
    assert.equal(await markRunning(state, 'boot-2'), true, 'the machine went down under it');
    await unmarkRunning(state);
    assert.equal(await markRunning(state, 'boot-3'), false, 'it was ended before the machine went down');
  });
});
