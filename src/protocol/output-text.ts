import type { ContentPart, ResponseObject } from './wire.js';

/** A Response with `output_text`: what the model wrote, in one string. On JSON bodies only (docs/decisions/2026-11-21-protocol-choices.md). */
export interface ResponseWithText extends ResponseObject {
  readonly output_text: string;
}

/** Adds `output_text` to a Response that leaves as a JSON body. */
export function withOutputText(response: ResponseObject): ResponseWithText {
  return { ...response, output_text: outputTextOf(response) };
}

/** The same of a Response that is JSON text already; `json` has no closing brace yet. */
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
