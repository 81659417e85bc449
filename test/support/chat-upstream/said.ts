import { requireRule } from '../rule.js';
import type { WireResponse } from '../transport.js';

/** What a response says in one item or part, in short. */
export type SaidItem =
  | { readonly reasoning: string }
  | { readonly text: string }
  | { readonly refusal: string }
  | { readonly call: string; readonly arguments: string };

type Member = Readonly<Record<string, unknown>>;

/** What a response says, in order, without ids. Throws for items of other types. */
export function saidIn(response: WireResponse): readonly SaidItem[] {
  return (response['output'] as readonly Member[]).flatMap((item) => {
    if (item['type'] === 'function_call') return { call: String(item['name']), arguments: String(item['arguments']) };
    requireRule(item['type'] === 'message' || item['type'] === 'reasoning', `no item of type ${String(item['type'])}`);
    return (item['content'] as readonly Member[]).map(toSaid);
  });
}

/** The `call_id`s of a response's calls. Throws unless they are there and differ. */
export function callIdsIn(response: WireResponse): readonly string[] {
  const items = response['output'] as readonly Member[];
  const ids = items.filter((item) => 'call_id' in item).map((item) => item['call_id']);
  requireRule(
    ids.every((id) => typeof id === 'string' && id !== ''),
    'every call must have an id',
  );
  requireRule(new Set(ids).size === ids.length, 'ids of calls must differ');
  return ids as readonly string[];
}

function toSaid({ type, text, refusal }: Member): SaidItem {
  if (type === 'reasoning_text') return { reasoning: String(text) };
  return type === 'refusal' ? { refusal: String(refusal) } : { text: String(text) };
}
