import type { ContentPart, ResponseObject } from './wire.js';

/** A Response with `output_text`: what the model wrote, in one string. On JSON bodies only (docs/decisions). */
export interface ResponseWithText extends ResponseObject {
  readonly output_text: string;
}

/** Adds `output_text` to a Response that leaves as a JSON body. */
export function withOutputText(response: ResponseObject): ResponseWithText {
  const messages = response.output.filter(({ type }) => type === 'message');
  const parts = messages.flatMap(({ content }) => content as readonly ContentPart[]);
  const texts = parts.filter(({ type }) => type === 'output_text').map(({ text }) => text as string);
  return { ...response, output_text: texts.join('') };
}
