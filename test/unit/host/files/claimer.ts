/** A process that claims the folder that it is told, says whether it could, and waits until it is killed. */
import process from 'node:process';
import { claimDirectory } from '../../../../src/host/files/claim.ts';

const claim = await claimDirectory(process.argv[2] ?? '');
console.log(claim === undefined ? 'taken' : 'claimed');
process.stdin.resume();
