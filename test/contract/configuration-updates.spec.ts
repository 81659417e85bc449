import { beforeEach, describe, expect, it } from '@jest/globals';

import { ModelProvider } from '../../src/index.js';
import type { ModelInfo } from '../../src/providers/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { longText, say, TRIGGER } from '../support/compaction.js';
import { useService } from '../support/describe-service.js';
import { startServiceIn, STATES } from '../support/state-backends.js';
import type { WireResponse } from '../support/transport.js';

const FORMAT = {
  type: 'json_schema',
  name: 'city',
  schema: { type: 'object', properties: {}, additionalProperties: false, required: [] },
};
const HIGH = { type: 'configuration_update', reasoning: { effort: 'high' } };
const AS_JSON = { type: 'configuration_update', text: { format: FORMAT } };
const AS_TEXT = { type: 'configuration_update', text: { format: { type: 'text' } } };
const HELLO = { role: 'user', content: 'Hi' };

/** A model with some of the efforts, and a window. */
@ModelProvider('scripted')
class NarrowProvider extends ScriptedProvider {
  override find(model: string): ModelInfo {
    return { ...super.find(model), reasoningEfforts: ['low', 'high'], contextWindow: 4000 };
  }
}

describe.each(STATES)('protocol §3.1: configuration updates in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [NarrowProvider] }));

  const provider = (): NarrowProvider => service.app.get(NarrowProvider);

  beforeEach(() => {
    provider().turns.length = 0;
  });

  const ask = (body: object): Promise<WireResponse> => service.api.create({ reasoning: { effort: 'low' }, ...body });

  const next = ({ id }: WireResponse, ...input: readonly object[]): Promise<WireResponse> =>
    ask({ previous_response_id: id, input: [...input, HELLO] });

  /** The effort and the format that the model was asked for last. */
  const asked = (): unknown => {
    const { reasoning, text } = provider().turns.at(-1)?.settings ?? {};
    return [reasoning?.effort, text?.format?.type];
  };

  it('configuration updates count from their place on, along the chain, until the next one', async () => {
    const first = await ask({ input: [HELLO] });
    expect(asked()).toEqual(['low', 'text']);
    const second = await next(first, HIGH);
    expect(asked()).toEqual(['high', 'text']);
    const third = await next(second, AS_JSON);
    expect(asked()).toEqual(['high', 'json_schema']);
    expect(provider().turns.at(-1)?.settings.text).toEqual({ format: FORMAT, verbosity: 'medium' });
    const fourth = await next(third);
    expect(asked()).toEqual(['high', 'json_schema']);
    await next(fourth, { type: 'configuration_update', reasoning: { effort: null } }, AS_TEXT);
    expect(asked()).toEqual(['low', 'text']);
    // A fork knows only what stands before it.
    await next(second);
    expect(asked()).toEqual(['high', 'text']);
  });

  it('configuration updates stay as they are in the input of their response, and in a conversation', async () => {
    const { id } = await ask({ input: [HIGH, HELLO] });
    const { body } = await service.api.get(`responses/${id}/input_items?order=asc`);
    expect(body['data']).toMatchObject([HIGH, { type: 'message' }]);
    const { body: conversation } = await service.api.post('conversations', { items: [HIGH, AS_JSON] });
    await ask({ conversation: conversation['id'] as string, input: [HELLO] });
    expect(asked()).toEqual(['high', 'json_schema']);
  });

  it('configuration updates survive a compaction, whose summary they do not form', async () => {
    const first = await ask({ input: [HELLO, HIGH, AS_JSON, HELLO] });
    provider().reply(...say('SUMMARY'));
    const compacted = await ask({ previous_response_id: first.id, input: [TRIGGER] });
    const summary = provider().turns.at(-1);
    expect(summary).toMatchObject({ purpose: 'summary', settings: { text: { format: { type: 'text' } } } });
    expect(summary?.context.map(({ type }) => type)).not.toContain('configuration_update');
    await next(compacted);
    expect(asked()).toEqual(['high', 'json_schema']);
    await ask({ input: [...(compacted['output'] as readonly object[]), HELLO] });
    expect(asked()).toEqual(['high', 'json_schema']);
  });

  it('configuration updates survive what truncation leaves out', async () => {
    const long = { role: 'user', content: longText('old', 3000) };
    await ask({ input: [long, HIGH, { role: 'assistant', content: 'Hm.' }, long, HELLO], truncation: 'auto' });
    expect(
      provider()
        .turns.at(-1)
        ?.context.map(({ type }) => type),
    ).toContain('configuration_update');
    expect(asked()).toEqual(['high', 'text']);
  });

  it.each<[string, object, object]>([
    ['an effort that no model has', { ...HIGH, reasoning: { effort: 'huge' } }, { param: 'input[1].reasoning.effort' }],
    [
      'an effort that its model does not have',
      { ...HIGH, reasoning: { effort: 'max' } },
      { code: 'unsupported_value', param: 'input[1].reasoning.effort' },
    ],
    ['text without a format', { ...AS_TEXT, text: {} }, { param: 'input[1].text.format' }],
    [
      'a format that it cannot have',
      { ...AS_TEXT, text: { format: { type: 'json_object' } } },
      { param: 'input[1].text.format' },
    ],
    [
      'a schema without a name',
      { ...AS_TEXT, text: { format: { ...FORMAT, name: null } } },
      { param: 'input[1].text.format.name' },
    ],
  ])('configuration updates are refused with %s', async (_, item, error) => {
    const body = { model: 'm', reasoning: { effort: 'low' }, input: [HELLO, item] };
    expect(await service.api.post('responses', body)).toMatchObject({ status: 400, body: { error } });
  });

  it('configuration updates of an earlier response are refused where a model cannot follow them', async () => {
    const update = { type: 'configuration_update', reasoning: { effort: 'minimal' } };
    const { body } = await service.api.post('conversations', { items: [update] });
    const answer = await service.api.post('responses', { model: 'm', input: 'Hi', conversation: body['id'] });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'unsupported_value', param: 'input' } } });
  });
});

describe('a configuration update', () => {
  const service = useService({});

  it('a configuration update gives the SDK an answer in the form that its parser expects', async () => {
    const response = await service.client().responses.parse({
      model: 'gpt-5',
      input: [
        { role: 'user', content: 'Where?' },
        {
          type: 'configuration_update',
          text: {
            format: {
              type: 'json_schema',
              name: 'place',
              strict: true,
              schema: {
                type: 'object',
                properties: { city: { type: 'string' } },
                required: ['city'],
                additionalProperties: false,
              },
            },
          },
        },
        { role: 'user', content: 'In JSON.' },
      ],
    });
    expect(response.output_parsed).toEqual({ city: expect.any(String) });
  });
});
