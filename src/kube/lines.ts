/**
 * Splits a stream of text into its lines, without the empty ones; what follows the last line break is none. Throws what
 * `tooLong` makes of the beginning of a line that is longer than `maxLength` characters.
 */
export async function* linesOf(
  chunks: AsyncIterable<string>,
  maxLength: number,
  tooLong: (beginning: string) => Error,
): AsyncGenerator<string> {
  let parts: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const [first = '', ...rest] = chunk.split('\n');
    for (const [index, piece] of [first, ...rest].entries()) {
      if (index > 0) {
        const line = parts.join('');
        parts = [];
        length = 0;
        if (line !== '') yield line;
      }
      parts.push(piece);
      length += piece.length;
      if (length > maxLength) throw tooLong(parts.join('').slice(0, maxLength));
    }
  }
}
