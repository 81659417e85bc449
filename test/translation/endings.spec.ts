import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { countTokens } from '../../src/providers/index.js';
import { Translation } from '../support/translation/translation.js';
import { itemsOf } from '../support/output.js';
import { functionTool } from '../support/translation/user-items.js';
import { TRANSPORTS } from '../support/transports.js';

describe('how answers of an upstream end', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start({ usageless: { capabilities: { stream_usage: false } } });
  });

  afterAll(() => translation.close());

  describe.each(TRANSPORTS)('over $name', (transport) => {
    it.each<[string, string, string]>([
      ['length', 'max_output_tokens', 'length'],
      ['content_filter', 'content_filter', 'content_filter'],
    ])('an answer is incomplete after %s', async (_, reason, finish) => {
      const { response } = await translation.run(transport, {}, { text: 'Once upon a', finish });
      expect(response).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason },
        completed_at: null,
        error: null,
        usage: { input_tokens: 11, output_tokens: 7 },
      });
      expect(itemsOf(response)).toMatchObject([
        { type: 'message', status: 'incomplete', content: [{ text: 'Once upon a' }] },
      ]);
    });

    it.each(['stop', 'eos', 'end_turn'])('an answer is complete after %s', async (finish) => {
      const { response } = await translation.run(transport, {}, { text: 'The end.', finish });
      expect(response).toMatchObject({ status: 'completed', incomplete_details: null });
    });

    it('an answer is complete without a word', async () => {
      const { response } = await translation.run(transport, {}, { finish: 'stop' });
      expect(response).toMatchObject({ status: 'completed', output: [] });
    });

    it('an answer that is a refusal is complete', async () => {
      const { response } = await translation.run(transport, {}, { refusal: 'I will not.' });
      expect(response.status).toBe('completed');
      expect(itemsOf(response)).toMatchObject([
        { type: 'message', content: [{ type: 'refusal', refusal: 'I will not.' }] },
      ]);
    });
  });

  it('an answer with nothing but thoughts is incomplete', async () => {
    const { response } = await translation.turn({}, { reasoning: 'Let me see', finish: 'length' });
    expect(response.status).toBe('incomplete');
    expect(itemsOf(response)).toMatchObject([
      { type: 'reasoning', status: 'incomplete', content: [{ text: 'Let me see' }] },
    ]);
  });

  it('a conversation goes on from what is incomplete', async () => {
    const { response } = await translation.turn({ input: 'Tell.' }, { text: 'Once upon a', finish: 'length' });
    expect(await translation.messages({ previous_response_id: response.id, input: 'Go on.' })).toEqual([
      { role: 'user', content: 'Tell.' },
      { role: 'assistant', content: 'Once upon a' },
      { role: 'user', content: 'Go on.' },
    ]);
  });

  describe('with tokens that nobody counted', () => {
    const ANSWER = {
      reasoning: 'A short thought.',
      text: 'Hello, dear reader!',
      toolCalls: [{ name: 'look', arguments: '{"at":"the sea"}' }],
    };
    const QUIRKS = { usage: 'absent' } as const;

    it('the service counts tokens that nobody counted', async () => {
      const input = 'Tell me a story of the sea.';
      const { response } = await translation.turn(
        { model: 'usageless', input, instructions: 'Be brief.' },
        ANSWER,
        QUIRKS,
      );
      const usage = response['usage'] as { input_tokens: number; output_tokens: number; total_tokens: number };
      const asked = countTokens(input) + countTokens('Be brief.');
      const said = countTokens('A short thought.Hello, dear reader!look{"at":"the sea"}');
      expect(usage.input_tokens).toBeGreaterThanOrEqual(asked);
      expect(usage.input_tokens).toBeLessThan(asked + 16);
      expect(usage.output_tokens).toBeGreaterThanOrEqual(said - 2);
      expect(usage.output_tokens).toBeLessThan(said + 16);
      expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens);
    });

    it('the service counts the tokens of the whole chain and the tools', async () => {
      const first = await translation.turn({ model: 'usageless', input: 'Hello' }, { text: 'Hi.' }, QUIRKS);
      const chained = { model: 'usageless', previous_response_id: first.response.id, input: 'Hello' };
      const second = await translation.turn(chained, { text: 'Hi.' }, QUIRKS);
      const third = await translation.turn(
        { ...chained, tools: [functionTool('look', { description: 'Looks at the sea.' })] },
        { text: 'Hi.' },
        QUIRKS,
      );
      const [one, two, three] = [first, second, third].map(
        ({ response }) => (response['usage'] as { input_tokens: number }).input_tokens,
      );
      expect(two).toBeGreaterThan(one ?? Infinity);
      expect(three).toBeGreaterThan(two ?? Infinity);
    });

    it('the service counts tokens for answers that are cut off', async () => {
      const { response } = await translation.turn({}, { text: 'Once upon a', finish: 'length' }, QUIRKS);
      expect(response).toMatchObject({ status: 'incomplete', usage: { output_tokens: expect.any(Number) as unknown } });
    });
  });
});
