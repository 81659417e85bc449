import { PAGE_BYTES } from '../../page.js';

/** The texts of a page, in the order in which they were read. */
export interface TextPage {
  readonly bodies: readonly string[];
  readonly hasMore: boolean;
}

/** Reads a page of texts, bounded in number and size; the first always fits. */
export function readPage(rows: Iterable<unknown>, limit: number): TextPage {
  const bodies: string[] = [];
  let bytes = 0;
  for (const row of rows) {
    const { body } = row as { readonly body: string };
    bytes += Buffer.byteLength(body);
    if (bodies.length === limit || (bodies.length > 0 && bytes > PAGE_BYTES)) return { bodies, hasMore: true };
    bodies.push(body);
  }
  return { bodies, hasMore: false };
}
