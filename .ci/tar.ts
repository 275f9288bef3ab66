/** A file of an archive; a name that ends in a slash is a folder; with `link`, a symbolic link to there. */
export interface TarFile {
  readonly name: string;
  readonly mode: number;
  readonly data?: Buffer;
  readonly link?: string;
}

const BLOCK = 512;

function headerOf({ name, mode, data, link = '' }: TarFile): Buffer {
  if (Math.max(Buffer.byteLength(name), Buffer.byteLength(link)) > 100) throw new Error(`too long for an archive: ${name}`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, offset: number, length: number): void => {
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset);
  };
  header.write(name, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(data?.length ?? 0, 124, 12);
  // The same content is to make the same archive, whenever it is made.
  octal(0, 136, 12);
  header.write(' '.repeat(8), 148);
  header.write(link !== '' ? '2' : name.endsWith('/') ? '5' : '0', 156);
  header.write(link, 157);
  header.write('ustar\x0000', 257, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

/** Makes an archive (POSIX ustar) of these files, all of root's, and of the folders they are in. */
export function tarOf(files: readonly TarFile[]): Buffer {
  const folders = new Set<string>();
  for (const { name } of files) {
    const parts = name.split('/').slice(0, -1);
    for (const [index] of parts.entries()) folders.add(`${parts.slice(0, index + 1).join('/')}/`);
  }
  const all: TarFile[] = [...[...folders].sort().map((name) => ({ name, mode: 0o755 })), ...files];
  const blocks = all.flatMap((file) => {
    const size = file.data?.length ?? 0;
    return [headerOf(file), file.data ?? Buffer.alloc(0), Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}
