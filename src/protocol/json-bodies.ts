import type { ContentPart, ListObject, ResponseObject } from './wire.js';

/** A page as a list envelope (protocol §1.1). */
export function toListObject<T extends { readonly id: string }>(data: readonly T[], hasMore: boolean): ListObject<T> {
  return {
    object: 'list',
    data,
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}

/** A Response with `output_text`: the text of all messages in one string. On JSON bodies only (docs/decisions/2026-11-21-protocol-choices.md). */
export interface ResponseWithText extends ResponseObject {
  readonly output_text: string;
}

/** Adds `output_text` to a Response for a JSON body. */
export function withOutputText(response: ResponseObject): ResponseWithText {
  return { ...response, output_text: outputTextOf(response) };
}

/** Adds `output_text` to a Response that is already JSON text; `json` lacks its closing brace. */
export function withOutputTextJson(json: string, response: ResponseObject): string {
  return `${json},"output_text":${JSON.stringify(outputTextOf(response))}}`;
}

function outputTextOf({ output }: ResponseObject): string {
  let text = '';
  for (const { type, content } of output) {
    if (type !== 'message') continue;
    for (const part of content as readonly ContentPart[]) if (part.type === 'output_text') text += part.text as string;
  }
  return text;
}
