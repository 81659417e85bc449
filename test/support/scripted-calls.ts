import type { ModelEvent } from '../../src/index.js';
import type { ScriptedProvider } from '../../src/testing/index.js';
import type { Members } from './output.js';

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

/** What the model has read of the last call. */
export function lastOutput({ provider }: { readonly provider: ScriptedProvider }): Members {
  const output = provider.turns.at(-1)?.context.findLast(({ type }) => type === 'function_call_output');
  return JSON.parse(String(output?.['output'])) as Members;
}
