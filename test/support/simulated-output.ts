import type { TurnResult, WireResponse } from './transport.js';

/** An item of a response, with what tests of the simulator look at. */
export interface OutputItem {
  readonly type: string;
  readonly status?: string;
  readonly content?: readonly { readonly type: string; readonly text: string }[];
  readonly arguments?: string;
  readonly input?: string;
  readonly call_id?: string;
  readonly encrypted_content?: string;
}

/** The output of a response. */
export function itemsOf({ output }: WireResponse): readonly OutputItem[] {
  return output as readonly OutputItem[];
}

/** The text of the message that a response ends with. */
export function textOf(response: WireResponse): string {
  return (itemsOf(response).at(-1)?.content ?? []).map(({ text }) => text).join('');
}

/** All that a model wrote for others to read or to run. */
export function writtenIn(response: WireResponse): string {
  return itemsOf(response)
    .map(
      ({ arguments: args = '', input = '', content = [] }) => args + input + content.map(({ text }) => text).join(''),
    )
    .join('');
}

/** What the model read, in tokens. */
export function inputTokens({ response }: TurnResult): number {
  return (response['usage'] as { readonly input_tokens: number }).input_tokens;
}

/** A schema of an object that has these properties and no others. */
export function closed(properties: object, more: object = {}): object {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false, ...more };
}

/** What asks for output of a schema. */
export function formatOf(schema: unknown): object {
  return { format: { type: 'json_schema', name: 'plan', schema } };
}
