const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const BRACE = 0x7b;
const BRACKET = 0x5b;

/** A body whose beginning was looked at. */
export interface PeekedBody {
  /** Whether it is a JSON document and no stream of events; what it calls itself is not always true. */
  readonly isJson: boolean;
  /** All of it. */
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** Looks at the first letter of a body. */
export async function peek(body: AsyncIterable<Uint8Array>): Promise<PeekedBody> {
  const iterator = body[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  let first: number | undefined;
  while (first === undefined) {
    const result = await iterator.next();
    if (result.done === true) break;
    read.push(result.value);
    first = result.value.find((byte) => !BLANKS.has(byte));
  }
  return { isJson: first === BRACE || first === BRACKET, pieces: new Unread(read, iterator) };
}

/** What was read already, and then the rest of it. */
class Unread implements AsyncIterableIterator<Uint8Array> {
  constructor(
    private readonly read: Uint8Array[],
    private readonly rest: AsyncIterator<Uint8Array>,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const value = this.read.shift();
    return value === undefined ? this.rest.next() : Promise.resolve({ done: false, value });
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    await this.rest.return?.();
    return { done: true, value: undefined };
  }
}
