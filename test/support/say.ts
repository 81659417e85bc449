import type { Service } from './service.js';
import { Refusal, type Transport, type WireResponse } from './transport.js';

/** The text of a Response's messages; of its calls, their names in brackets. */
export function textOf({ output }: WireResponse): string {
  const items = output as readonly {
    readonly name?: string;
    readonly content?: readonly { readonly text?: string }[];
  }[];
  return items
    .map(({ name, content = [] }) => (name === undefined ? content.map(({ text = '' }) => text).join('') : `[${name}]`))
    .join('');
}

/** Runs a turn and gives what was said, or the code of the error that came instead. */
export async function say(transport: Transport, service: Service, body: object): Promise<string> {
  try {
    const { response } = await transport.run(service, body);
    return response.status === 'failed' ? (response['error'] as { code: string }).code : textOf(response);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return (error.body as { error: { code: string } }).error.code;
  }
}
