import type { Item, ResponseObject } from '../protocol/index.js';

/** A response as databases store it. */
export interface StoredResponse {
  /** The Response without its output, as JSON. The body of one that has not ended is that of its creation. */
  readonly body: string;
  readonly status: ResponseObject['status'];
  /** Its output, as `readItems` takes it. */
  readonly output: string | null;
}

/** A stored response as clients see it. */
export function readResponse({ body, status, output }: StoredResponse): ResponseObject {
  return { ...(JSON.parse(body) as ResponseObject), status, output: readItems(output) };
}

/** The Response without its output, as JSON. */
export function toBody(response: ResponseObject): string {
  return JSON.stringify({ ...response, output: [] });
}

/** Parses comma-separated JSON texts; null: there are none. */
export function readItems(texts: string | null): readonly Item[] {
  return texts === null ? [] : (JSON.parse(`[${texts}]`) as Item[]);
}

/** The bytes of texts together. */
export function bytesOf(texts: readonly string[]): number {
  return texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
}
