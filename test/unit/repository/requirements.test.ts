/** What the test command says of a machine that lacks something, and what it would install there. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lacksOf, missingPackages, type Requirement } from '../../requirements.ts';

const requirement = (lacks: string, packages: readonly string[], isMet = false): Requirement => ({
  lacks,
  how: packages.length === 0 ? 'do it by hand' : `apt-get install ${packages.join(' ')}`,
  packages,
  met: () => isMet,
});

describe('the requirements of the suites', () => {
  const all = [
    requirement('root', []),
    requirement('zsh', ['zsh']),
    requirement('mke2fs', ['e2fsprogs', 'zsh']),
    requirement('fish', ['fish'], true),
  ];

  it('the requirements name each missing package once, and none of what is there', () => {
    assert.deepEqual(missingPackages(all), ['e2fsprogs', 'zsh']);
    assert.deepEqual(missingPackages([requirement('fish', ['fish'], true)]), []);
  });

  it('the requirements say in one line what is missing, and how to get it', () => {
    assert.equal(lacksOf(all), 'root (do it by hand); zsh, mke2fs (apt-get install e2fsprogs zsh)');
    assert.equal(lacksOf([requirement('fish', ['fish'], true)]), '');
  });
});
