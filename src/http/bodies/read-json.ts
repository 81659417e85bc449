import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Environment } from '../../config/index.js';
import { ApiError } from '../../protocol/index.js';
import type { MaybePromise } from '../../time/index.js';
import { type JsonLimits, JsonScanner } from './json-scanner.js';

/** Bytes that are read in one go: a millisecond or two. */
const SLICE_BYTES = 1024 * 1024;

/** Reads the JSON that clients send, within the limits of the configuration. */
export class JsonReader {
  private readonly limits: JsonLimits;

  /** `what` names the text in error messages: `body of your request`. */
  constructor(
    { BODY_MAX_VALUES, BODY_MAX_NAMES, BODY_MAX_LEVELS }: Environment,
    private readonly what: string,
  ) {
    this.limits = { values: BODY_MAX_VALUES, names: BODY_MAX_NAMES, levels: BODY_MAX_LEVELS };
  }

  /**
   * The value of a JSON text, which may begin with a byte order mark (RFC 8259 section 8.1). Long texts are read in slices, between which the process does other work. Throws ApiError:
   * 400 `invalid_json`, 400 `invalid_value` when it is nested too deeply, 413 `request_too_large` for too many values.
   */
  read(received: Buffer): MaybePromise<unknown> {
    const bytes = withoutMark(received);
    this.requireUtf8(bytes);
    if (bytes.length > SLICE_BYTES) return this.readInSlices(bytes);
    new JsonScanner(bytes, this.limits).scan(bytes.length);
    return this.parse(bytes.toString('utf8'));
  }

  private async readInSlices(bytes: Buffer): Promise<unknown> {
    const scanner = new JsonScanner(bytes, this.limits);
    for (let end = SLICE_BYTES; !scanner.scan(end); end += SLICE_BYTES) await nextTurn();
    await nextTurn();
    const text = bytes.toString('utf8');
    await nextTurn();
    const value = this.parse(text);
    // The caller's own work with the value comes in another turn of the event loop.
    await nextTurn();
    return value;
  }

  /** Lenient decoding would change the data. */
  private requireUtf8(bytes: Buffer): void {
    if (!isUtf8(bytes)) throw this.invalid('it is not valid UTF-8.');
  }

  private parse(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw this.invalid(error instanceof Error ? error.message.slice(0, 200) : '');
    }
  }

  private invalid(why: string): ApiError {
    return ApiError.of('invalid_json', `We could not parse the JSON ${this.what}: ${why}`);
  }
}

/** A text without the byte order mark that some programs begin it with. */
function withoutMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}
