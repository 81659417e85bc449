import type { Item, ResponseObject } from '../protocol/index.js';

/** A stored response as texts. */
export interface ResponseTexts {
  readonly body: string;
  readonly status: ResponseObject['status'];
  /** Comma-separated JSON texts; null when there are none. */
  readonly output: string | null;
}

/** The Response without its output, which is stored among its items. */
export function toBody(response: ResponseObject): string {
  return JSON.stringify({ ...response, output: [] });
}

/** The bytes of texts together. */
export function bytesOf(texts: readonly string[]): number {
  return texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
}

/** A stored response as clients see it. The body of one that has not ended is that of its creation. */
export function readResponse({ body, status, output }: ResponseTexts): ResponseObject {
  return { ...(JSON.parse(body) as ResponseObject), status, output: readItems(output) };
}

/** Parses comma-separated JSON texts. */
export function readItems(texts: string | null): readonly Item[] {
  return texts === null ? [] : (JSON.parse(`[${texts}]`) as Item[]);
}
