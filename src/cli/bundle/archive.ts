/** Packs texts into a tar archive (POSIX ustar), compressed with gzip. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** A file of the archive. */
export interface ArchivedFile {
  /** Below the archive's folder: at most 60 letters, digits and "./-_". */
  readonly name: string;
  readonly text: string;
}

const BLOCK = 512;

function header(name: string, size: number, mtimeSec: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, '0')}\0`;
  const put = (text: string, at: number): void => {
    block.write(text, at, 'latin1');
  };
  put(name, 0);
  put(octal(0o600, 8), 100);
  put(octal(0, 8), 108);
  put(octal(0, 8), 116);
  put(octal(size, 12), 124);
  put(octal(mtimeSec, 12), 136);
  put('        ', 148);
  put('0', 156);
  put('ustar\x0000', 257);
  put('root', 265);
  put('root', 297);
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** The archive with one folder `folder`; `now` in milliseconds since the epoch is the time of its files. */
export async function packed(folder: string, files: readonly ArchivedFile[], now: number): Promise<Buffer> {
  const blocks = files.flatMap(({ name, text }) => {
    const data = Buffer.from(text);
    const padding = Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK);
    return [header(`${folder}/${name}`, data.length, Math.floor(now / 1000)), data, padding];
  });
  return await promisify(gzip)(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]));
}
