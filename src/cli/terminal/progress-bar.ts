const WIDTH = 24;

/** A share as a bar; drawn with blocks, or with signs that every terminal and file has. */
export function shareBar(done: number, total: number, width: number, style: 'blocks' | 'signs' = 'signs'): string {
  const filled = total === 0 ? width : Math.floor((Math.min(done, total) / total) * width);
  const [full, empty] = style === 'blocks' ? ['█', '░'] : ['#', '.'];
  return full.repeat(filled) + empty.repeat(width - filled);
}

/** How many of how many, as a bar and in numbers. */
export function progressBar(done: number, total: number): string {
  return `${shareBar(done, total, WIDTH)} ${done}/${total}`;
}
