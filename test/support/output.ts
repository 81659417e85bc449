import type { Item } from '../../src/index.js';
import { requireRule } from '../../src/testing/events/rule.js';
import type { Service } from './service.js';
import { Refusal, type Transport, type WireResponse } from './transport.js';

/** An object of the wire. */
export type Members = Readonly<Record<string, unknown>>;

/** The items of a Response's output, or those of a type. */
export function itemsOf({ output }: WireResponse, type?: string): readonly Members[] {
  const items = output as readonly Members[];
  return type === undefined ? items : items.filter((item) => item['type'] === type);
}

/** The types of the output's items. */
export function typesOf(response: WireResponse): readonly unknown[] {
  return itemsOf(response).map(({ type }) => type);
}

/** The text of a Response's messages; of its calls, their names in brackets. */
export function textOf(response: WireResponse): string {
  return itemsOf(response)
    .map(({ name, content }) => (typeof name === 'string' ? `[${name}]` : textIn(content)))
    .join('');
}

/** The last message's first part. */
export function lastPartOf(response: WireResponse): {
  readonly text: string;
  readonly annotations: readonly Members[];
} {
  return (itemsOf(response, 'message').at(-1)?.['content'] as readonly never[])[0] as never;
}

/** Runs a turn; gives the text of its answer, or the code of the error that came instead. */
export async function textOrCode(transport: Transport, service: Service, body: object): Promise<string> {
  try {
    const { response } = await transport.run(service, body);
    return response.status === 'failed' ? (response['error'] as { code: string }).code : textOf(response);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return String(error.error['code']);
  }
}

/** Items as a reader would tell them: messages as `role: text`, everything else by its type. */
export function transcript(items: readonly Item[]): readonly string[] {
  return items.map((item) =>
    item.type === 'message' ? `${String(item['role'])}: ${textIn(item['content'])}` : item.type,
  );
}

/** The texts of items, their contents or outputs. */
export function textsOf(items: readonly unknown[]): readonly string[] {
  return (items as readonly Members[]).map(({ content, output }) => textIn(content ?? output));
}

function textIn(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map(({ text = '' }: { readonly text?: string }) => text).join('');
}

/** What a response says in one item or part, in short. */
export type SaidItem =
  | { readonly reasoning: string }
  | { readonly text: string }
  | { readonly refusal: string }
  | { readonly call: string; readonly arguments: string };

/** What a response says, in order, without ids. Throws for items of other types. */
export function saidIn(response: WireResponse): readonly SaidItem[] {
  return itemsOf(response).flatMap((item): SaidItem | readonly SaidItem[] => {
    if (item['type'] === 'function_call') return { call: String(item['name']), arguments: String(item['arguments']) };
    requireRule(item['type'] === 'message' || item['type'] === 'reasoning', `no item of type ${String(item['type'])}`);
    return (item['content'] as readonly Members[]).map(({ type, text, refusal }) => {
      if (type === 'reasoning_text') return { reasoning: String(text) };
      return type === 'refusal' ? { refusal: String(refusal) } : { text: String(text) };
    });
  });
}

/** The `call_id`s of a response's calls. Throws unless they are there and differ. */
export function callIdsIn(response: WireResponse): readonly string[] {
  const ids = itemsOf(response).flatMap((item) => ('call_id' in item ? [item['call_id']] : []));
  requireRule(
    ids.every((id) => typeof id === 'string' && id !== ''),
    'every call must have an id',
  );
  requireRule(new Set(ids).size === ids.length, 'ids of calls must differ');
  return ids as readonly string[];
}
