/**
 * The agent of a picture's node: the real one. Its checks of this machine are left out: the agents of all nodes share it, and
 * none of them is installed on it.
 */
import process from 'node:process';

if (process.argv[2] === 'doctor') console.log(JSON.stringify({ items: [{ result: 'ok' }] }));
else await import('../../src/main.ts');
