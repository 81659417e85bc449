import { describe, expect, it } from '@jest/globals';
import { useService } from '../support/describe-service.js';
import { closed, formatOf, itemsOf } from '../support/simulator-requests.js';
import type { TurnResult, WireResponse } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';

/** All that a model wrote for others to read or to run. */
function writtenIn(response: WireResponse): string {
  return itemsOf(response)
    .map(
      ({ arguments: args = '', input = '', content = [] }) => args + input + content.map(({ text }) => text).join(''),
    )
    .join('');
}

const long = closed(
  Object.fromEntries(['from', 'to', 'over', 'under'].map((name) => [name, { type: 'string', minLength: 60 }])),
);
const walk = { type: 'function', name: 'walk', parameters: long };
const jot = {
  type: 'custom',
  name: 'jot',
  format: { type: 'grammar', syntax: 'regex', definition: '(tick tock ){30}' },
};

const plan = formatOf(closed({ steps: { type: 'array', items: { type: 'string' }, minItems: 12 } }));

/** What is asked for, 16 tokens of it unless it says otherwise, and the types of the items that there are then. */
const REQUESTS: readonly (readonly [name: string, body: object, types: readonly string[]])[] = [
  ['text', {}, ['message']],
  [
    'text after reasoning',
    { model: 'gpt-5', reasoning: { effort: 'minimal' }, text: { verbosity: 'high' }, max_output_tokens: 80 },
    ['reasoning', 'message'],
  ],
  ['reasoning only', { model: 'gpt-5', reasoning: { effort: 'high', summary: 'auto' } }, ['reasoning']],
  ['structured output', { text: plan }, ['message']],
  ['a JSON object', { input: 'JSON.', text: { format: { type: 'json_object' } } }, ['message']],
  ['a call', { tools: [walk] }, ['function_call']],
  ['a call of a custom tool', { tools: [jot] }, ['custom_tool_call']],
  [
    'several calls',
    { tools: [walk, jot], input: 'walk, jot', max_output_tokens: 100 },
    ['function_call', 'custom_tool_call'],
  ],
  ['several calls, of which few begin', { tools: [walk, jot], input: 'walk, jot' }, ['function_call']],
  ['reasoning before a call', { model: 'o3', tools: [walk] }, ['reasoning']],
];

describe.each(TRANSPORTS)('answers that max_output_tokens cuts ($name)', (transport) => {
  const service = useService({});

  const ask = (body: object): Promise<TurnResult> =>
    transport.run(service, { model: 'gpt-4.1', input: 'Go on.', ...body });

  it.each(REQUESTS)(
    'an answer that max_output_tokens cuts is incomplete, and a beginning of the whole: %s',
    async (_name, body, types) => {
      const { max_output_tokens: limit = 16 } = body as { readonly max_output_tokens?: number };
      const { response, events } = await ask({ ...body, max_output_tokens: limit });
      expect(response).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        error: null,
        usage: { output_tokens: limit },
      });
      expect(events?.at(-1)?.type ?? 'response.incomplete').toBe('response.incomplete');
      const items = itemsOf(response);
      expect(items.map(({ type }) => type)).toEqual(types);
      expect(items.at(-1)?.status ?? 'incomplete').toBe('incomplete');
      const whole = await ask({ ...body, max_output_tokens: null });
      expect(whole.response['status']).toBe('completed');
      expect(writtenIn(whole.response).startsWith(writtenIn(response))).toBe(true);
      expect(writtenIn(response)).not.toBe(writtenIn(whole.response));
    },
  );

  it.each(REQUESTS)('an answer is not cut where max_output_tokens is just enough: %s', async (_name, body) => {
    const whole = (await ask({ ...body, max_output_tokens: null })).response;
    const { output_tokens: limit } = whole['usage'] as { readonly output_tokens: number };
    const same = (await ask({ ...body, max_output_tokens: limit })).response;
    expect(same).toMatchObject({ status: 'completed', incomplete_details: null, usage: whole['usage'] });
    expect(writtenIn(same)).toBe(writtenIn(whole));
    await expect(ask({ ...body, max_output_tokens: limit - 1 })).resolves.toMatchObject({
      response: { status: 'incomplete' },
    });
  });
});
