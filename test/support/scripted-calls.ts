import type { ModelEvent } from '../../src/index.js';
import type { WireResponse } from './transport.js';

/** What models of these tests do, and what is looked at. Arguments that are a text are written as they are. */
export const call = (name: string, args: object | string = {}, key = name): readonly ModelEvent[] => [
  { type: 'function_call', name, callId: `call_${key}`, key },
  { type: 'function_call_arguments', delta: typeof args === 'string' ? args : JSON.stringify(args), key },
  { type: 'end', key },
];
export const search = (...queries: readonly string[]): readonly ModelEvent[] => call('web_search', { queries });
export const USAGE: ModelEvent = { type: 'usage', input: 10, output: 5 };
export const say = (...deltas: readonly string[]): readonly ModelEvent[] => [
  ...deltas.map((delta): ModelEvent => ({ type: 'text', delta })),
  USAGE,
];
export const BODY = { model: 'm', input: 'Do bees dance?', tools: [{ type: 'web_search' }] };

export type Wire = Readonly<Record<string, unknown>>;
export const itemsOf = ({ output }: WireResponse, type: string): readonly Wire[] =>
  (output as readonly Wire[]).filter((item) => item['type'] === type);
export const typesOf = ({ output }: WireResponse): readonly unknown[] =>
  (output as readonly Wire[]).map(({ type }) => type);
export const textOf = (response: WireResponse): { readonly text: string; readonly annotations: readonly Wire[] } =>
  (itemsOf(response, 'message').at(-1)?.['content'] as readonly never[])[0] as never;
