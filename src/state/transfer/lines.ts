import { StringDecoder } from 'node:string_decoder';

import { StateTransferError } from '../state-transfer.js';

/** Some editors and shells begin a file with this mark. */
const BYTE_ORDER_MARK = '\uFEFF';

/** A text in lines, numbered from 1, without their ends and without a byte order mark. Throws StateTransferError for a line of more than `limit` characters. */
export async function* linesOf(
  source: AsyncIterable<Uint8Array | string>,
  limit: number,
): AsyncGenerator<readonly [number: number, line: string]> {
  const decoder = new StringDecoder('utf8');
  let number = 1;
  let parts: string[] = [];
  let length = 0;
  const add = (part: string): void => {
    length += part.length;
    if (length > limit) throw new StateTransferError(`Line ${number} is longer than ${limit} characters.`);
    parts.push(part);
  };
  const end = (): readonly [number, string] => {
    const text = parts.join('');
    const line = [number, number === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text] as const;
    number += 1;
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of source) {
    const text = typeof chunk === 'string' ? chunk : decoder.write(chunk);
    let start = 0;
    for (let next = text.indexOf('\n'); next >= 0; next = text.indexOf('\n', start)) {
      add(text.slice(start, next));
      yield end();
      start = next + 1;
    }
    add(text.slice(start));
  }
  add(decoder.end());
  if (length > 0) yield end();
}
