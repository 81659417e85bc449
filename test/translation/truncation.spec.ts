import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { ApiClient } from '../support/api-client.js';
import { readCalls } from './call-groups.js';
import { beginningsOf, rounds, TOO_LONG, words } from './long-conversations.js';
import { Translation } from '../support/translation/translation.js';
import { assistant, functionCall, functionOutput, functionTool, user } from '../support/translation/user-items.js';
import { TRANSPORTS } from '../support/transports.js';

const auto = (input: readonly object[] | string, members: object = {}): object => ({
  model: 'small',
  truncation: 'auto',
  input,
  ...members,
});

describe("conversations that are longer than the model's window", () => {
  let translation: Translation;

  beforeAll(async () => {
    const small = { name: 'small', provider: 'generic', model: 'upstream-model', context_window: 2000 };
    translation = await Translation.start({}, [small]);
  });

  afterAll(() => translation.close());

  describe('and may be truncated', () => {
    it('truncated conversations lose what is oldest, and no more than leaves room for an answer', async () => {
      const texts = beginningsOf(
        await translation.messages(auto([...rounds(15), user('the end')], { max_output_tokens: 400 })),
      );
      expect(texts.at(-1)).toBe('the end');
      const kept = rounds(15).map((_, index) => `${index % 2 === 0 ? 'question' : 'answer'} ${Math.floor(index / 2)}`);
      const left = texts.slice(0, -1);
      expect(left).toEqual(kept.slice(-left.length));
      // 1600 of 2000 tokens, 100 a message.
      expect(left.length).toBeGreaterThanOrEqual(13);
      expect(left.length).toBeLessThanOrEqual(16);
    });

    it('truncated conversations leave half of the window where the client wants all of it', async () => {
      const half = await translation.messages(auto([...rounds(15), user('the end')], { max_output_tokens: 100_000 }));
      expect(half.length).toBeGreaterThanOrEqual(8);
      expect(half.length).toBeLessThanOrEqual(11);
    });

    it('truncated conversations keep instructions, and the messages of developers and the system at the beginning', async () => {
      const input = [
        { role: 'developer', content: `developer rules ${words(100)}` },
        { role: 'system', content: `system rules ${words(100)}` },
        ...rounds(15),
        user('the end'),
      ];
      const texts = beginningsOf(
        await translation.messages(auto(input, { instructions: `my instructions ${words(100)}` })),
      );
      expect(texts.slice(0, 3)).toEqual(['my instructions', 'developer rules', 'system rules']);
      expect(texts[3]).not.toBe('question 0');
      expect(texts.at(-1)).toBe('the end');
    });

    it("truncated conversations keep tools that came with the developer's messages", async () => {
      const input = [
        { type: 'additional_tools', role: 'developer', tools: [functionTool('late')] },
        { role: 'developer', content: 'developer rules' },
        ...rounds(15),
        user('the end'),
      ];
      const body = await translation.sent(auto(input));
      expect(body['tools']).toHaveLength(1);
      expect(beginningsOf(body.messages ?? [])[0]).toBe('developer rules');
    });

    it('truncated conversations make room for long instructions and tools', async () => {
      const tools = [functionTool('look', { description: words(500) })];
      const plain = await translation.messages(auto([...rounds(15), user('the end')]));
      const laden = await translation.messages(
        auto([...rounds(15), user('the end')], { tools, instructions: words(200) }),
      );
      expect(laden.length).toBeLessThan(plain.length - 4);
    });

    it.each([0, 1, 2, 3, 4, 5, 6, 7])(
      'truncated conversations never have a call without its output, or an output without its call (%d more)',
      async (count) => {
        const input = [
          ...rounds(count),
          user('Look.'),
          functionCall('call_1', 'look', JSON.stringify({ at: words(200) })),
          functionCall('call_2', 'listen', JSON.stringify({ to: words(200) })),
          functionOutput('call_2', `two ${words(200)}`),
          functionOutput('call_1', `one ${words(200)}`),
          ...rounds(8 - count),
          user('the end'),
        ];
        const messages = await translation.messages(auto(input, { max_output_tokens: 16 }));
        const calls = readCalls(messages).map(({ id }) => id);
        expect([[], ['call_1', 'call_2'], ['call_1'], ['call_2']]).toContainEqual(calls);
        const outputs = messages
          .filter(({ role }) => role === 'tool')
          .map(({ content }) => String(content).slice(0, 3));
        expect(outputs).toEqual(calls.map((id) => (id === 'call_1' ? 'one' : 'two')));
        expect(JSON.stringify(messages)).not.toContain('no output');
      },
    );

    it('truncated conversations keep the latest calls of an agent whose user says little', async () => {
      const calls = Array.from({ length: 20 }, (_, index) => [
        functionCall(`call_${index}`, 'look', JSON.stringify({ at: words(50) })),
        functionOutput(`call_${index}`, `output ${index} ${words(50)}`),
      ]).flat();
      const input = [user('the task'), ...calls, user('the end')];
      const messages = await translation.messages(auto(input, { max_output_tokens: 16 }));
      expect(readCalls(messages).length).toBeGreaterThan(8);
      expect(beginningsOf(messages).at(-1)).toBe('the end');
    });

    it('truncated conversations are kept whole by the service', async () => {
      const input = [...rounds(15), user('the end')];
      const { response } = await translation.turn(auto(input), { text: 'Well.' });
      const api = new ApiClient(translation.service.baseURL);
      const { body } = await api.get(`responses/${response.id}/input_items?limit=100`);
      expect(body['data']).toHaveLength(31);
      const messages = await translation.messages({ previous_response_id: response.id, input: 'And?' });
      expect(messages).toHaveLength(33);
      expect(beginningsOf(messages)[0]).toBe('question 0');
    });

    it('conversations are truncated anew in every turn of a chain', async () => {
      const first = await translation.turn(auto([...rounds(12), user('So?')]), { text: 'Well.' });
      const second = await translation.turn(auto('And?', { previous_response_id: first.response.id }), { text: 'So.' });
      const texts = beginningsOf(second.body.messages ?? []);
      expect(texts.slice(-3)).toEqual(['So?', 'Well.', 'And?']);
      expect(texts.length).toBeLessThan(20);
      const third = await translation.messages({ previous_response_id: second.response.id, input: 'Well?' });
      expect(third).toHaveLength(29);
    });

    it('conversations that may be truncated are sent whole where they fit', async () => {
      expect(await translation.messages(auto([...rounds(4), user('the end')]))).toHaveLength(9);
    });

    it.each(TRANSPORTS)(
      'conversations are refused where the last message alone is too long, over $name',
      async (transport) => {
        expect(await translation.refusal(auto([...rounds(2), user(words(3000))]), transport)).toMatchObject(TOO_LONG);
      },
    );

    it('conversations are refused where the instructions alone are too long', async () => {
      expect(await translation.refusal(auto('Hello', { instructions: words(3000) }))).toEqual(TOO_LONG);
    });
  });

  describe('and may not', () => {
    it.each(TRANSPORTS)(
      'conversations that are too long and may not be truncated are refused, over $name',
      async (transport) => {
        const input = [...rounds(15), user('the end')];
        for (const truncation of ['disabled', null, undefined]) {
          expect(await translation.refusal({ model: 'small', truncation, input }, transport)).toEqual(TOO_LONG);
        }
      },
    );

    it('conversations that are too long are refused along a chain', async () => {
      const { response } = await translation.turn({ model: 'generic', input: rounds(15) }, { text: 'Well.' });
      expect(await translation.refusal({ model: 'small', previous_response_id: response.id })).toEqual(TOO_LONG);
    });

    it('conversations are refused for their tools', async () => {
      const tools = [functionTool('look', { description: words(3000) })];
      expect(await translation.refusal({ model: 'small', tools })).toEqual(TOO_LONG);
    });

    it('conversations are sent where they just fit, and leave no room for the answer', async () => {
      const request = { model: 'small', input: [user(words(1980))], max_output_tokens: 1000 };
      expect(await translation.messages(request)).toHaveLength(1);
    });

    it('conversations are sent where nobody knows the window', async () => {
      expect(await translation.messages({ model: 'generic', input: [user(words(30_000))] })).toHaveLength(1);
    });
  });

  describe('only if one counts what is not sent', () => {
    it('conversations are sent whatever thoughts the upstream does not read', async () => {
      const thought = { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: words(3000) }] };
      const sealed = { type: 'reasoning', summary: [], encrypted_content: Buffer.from(words(3000)).toString('base64') };
      const input = [user('Hello'), thought, assistant('Hi.'), user('And?'), sealed, assistant('Well.'), user('So?')];
      expect(await translation.messages({ model: 'small', input })).toHaveLength(5);
      const texts = beginningsOf(await translation.messages(auto([...rounds(2), ...input])));
      expect(texts).toHaveLength(9);
    });

    it('conversations are sent whatever tools were not searched for yet', async () => {
      const tools = [
        { type: 'tool_search', execution: 'client' },
        functionTool('look', { parameters: { type: 'object', description: words(3000) }, defer_loading: true }),
      ];
      expect(await translation.functions({ model: 'small', tools })).toHaveLength(1);
    });
  });
});
