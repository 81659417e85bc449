import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { Translation } from '../support/translation/translation.js';
import { itemsOf, type Members } from '../support/output.js';
import { assistant, functionCall, functionOutput, functionTool, user } from '../support/translation/user-items.js';

const THOUGHT = 'The user greets me – 你好 "quoted".';
const ANSWER = { reasoning: THOUGHT, text: 'Hi.' };
const CALLS = {
  reasoning: 'I have to look.',
  text: 'Let me see.',
  toolCalls: [
    { name: 'look', arguments: '{"at":1}' },
    { name: 'look', arguments: '{"at":2}' },
  ],
};
const STATELESS = { store: false, include: ['reasoning.encrypted_content'] };

/** As other services seal it: nothing that we could read. */
const FOREIGN = `gAAAAAB${Buffer.from('the secret thoughts of another service').toString('base64').repeat(3)}`;

const thought = (text: string): object => ({
  type: 'reasoning',
  summary: [],
  content: [{ type: 'reasoning_text', text }],
});

/** A replayed item as Codex writes it: what is said in the open is left out. */
function asCodex({ status: _status, ...item }: Members): object {
  return item['type'] === 'reasoning' ? { ...item, content: null } : item;
}

describe('reasoning for an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start({
      reasoning: { capabilities: { reasoning_replay: 'reasoning' } },
      demanding: { dialect: 'deepseek' },
      reasoning_content: { capabilities: { reasoning_replay: 'reasoning_content' } },
    });
  });

  afterAll(() => translation.close());

  it.each([
    ['unknown', [], ''],
    ['known', [thought('I have to look.')], 'I have to look.'],
  ])(
    'reasoning is in every message with calls where that is demanded, also when it is %s',
    async (_, thoughts, expected) => {
      const input = [
        user('Look.'),
        assistant('Gladly.'),
        user('Now.'),
        ...thoughts,
        functionCall('call_1', 'look'),
        functionOutput('call_1', 'A sea.'),
      ];
      const messages = await translation.messages({ model: 'demanding', input, tools: [functionTool('look')] });
      const said = messages.filter(({ role }) => role === 'assistant');
      expect(said).toMatchObject([{ content: 'Gladly.' }, { reasoning_content: expected }]);
      expect(said[0]).not.toHaveProperty('reasoning_content');
    },
  );

  describe.each(['reasoning', 'reasoning_content'])('that reads %s', (model) => {
    it('reasoning goes back along a stored chain', async () => {
      const { response } = await translation.turn({ model, input: 'Hello' }, ANSWER);
      expect(await translation.messages({ model, previous_response_id: response.id, input: 'And?' })).toEqual([
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi.', [model]: THOUGHT },
        { role: 'user', content: 'And?' },
      ]);
    });

    it('reasoning goes back with the calls it led to', async () => {
      const first = await translation.turn({ model, input: 'Look.', tools: [functionTool('look')] }, CALLS);
      const input = [functionOutput('call_1', 'one'), functionOutput('call_2', 'two')];
      const second = await translation.turn(
        { model, previous_response_id: first.response.id, input, tools: [functionTool('look')] },
        { reasoning: 'Both are there.', text: 'Done.' },
      );
      const made = {
        role: 'assistant',
        content: 'Let me see.',
        [model]: 'I have to look.',
        tool_calls: [{ id: 'call_1' }, { id: 'call_2' }],
      };
      expect(second.body.messages).toMatchObject([{ role: 'user' }, made, { role: 'tool' }, { role: 'tool' }]);
      const messages = await translation.messages({ model, previous_response_id: second.response.id, input: 'And?' });
      expect(messages).toMatchObject([
        { role: 'user' },
        made,
        { role: 'tool' },
        { role: 'tool' },
        { role: 'assistant', content: 'Done.', [model]: 'Both are there.' },
        { role: 'user' },
      ]);
    });

    it('reasoning goes back when the client replays what it said in the open', async () => {
      const input = [user('Hello'), thought(THOUGHT), assistant('Hi.'), user('And?')];
      expect(await translation.messages({ model, input })).toContainEqual({
        role: 'assistant',
        content: 'Hi.',
        [model]: THOUGHT,
      });
    });

    it.each<[string, (item: Members) => object]>([
      ['whole', (item) => item],
      ['as Codex does, without what was said in the open', asCodex],
      ['without ids', ({ id: _id, ...item }) => item],
    ])('reasoning goes back when a stateless client replays its items %s', async (_, replay) => {
      const { response } = await translation.turn({ model, input: 'Look.', ...STATELESS }, CALLS);
      const items = itemsOf(response);
      expect(items[0]).toMatchObject({ type: 'reasoning', encrypted_content: expect.any(String) as unknown });
      const outputs = [functionOutput('call_1', 'one'), functionOutput('call_2', 'two')];
      const messages = await translation.messages({ model, input: [user('Look.'), ...items.map(replay), ...outputs] });
      expect(messages[1]).toMatchObject({ content: 'Let me see.', [model]: 'I have to look.' });
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
    });

    it('reasoning is said once where the client has it in both forms', async () => {
      const { response } = await translation.turn({ model, input: 'Hello', ...STATELESS }, ANSWER);
      const input = [user('Hello'), ...itemsOf(response), user('And?')];
      expect((await translation.messages({ model, input }))[1]).toEqual({
        role: 'assistant',
        content: 'Hi.',
        [model]: THOUGHT,
      });
    });

    it.each([FOREIGN, FOREIGN.slice(0, 40), 'antiphon', '', '%%% '.repeat(20)])(
      'reasoning leaves out what another service encrypted: %s',
      async (content) => {
        const foreign = {
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: 'A summary.' }],
          encrypted_content: content,
        };
        expect(
          await translation.messages({ model, input: [user('Hello'), foreign, assistant('Hi.'), user('And?')] }),
        ).toEqual([
          { role: 'user', content: 'Hello' },
          { role: 'assistant', content: 'Hi.' },
          { role: 'user', content: 'And?' },
        ]);
      },
    );

    it('reasoning belongs to the answer that follows it', async () => {
      const input = [
        thought('First.'),
        functionCall('call_1', 'look'),
        functionOutput('call_1', 'one'),
        thought('Second.'),
        functionCall('call_2', 'look'),
        functionOutput('call_2', 'two'),
        thought('Third.'),
        assistant('Done.'),
        user('And?'),
      ];
      const messages = await translation.messages({ model, input });
      const answers = messages.filter(({ role }) => role === 'assistant');
      expect(answers.map((answer) => answer[model])).toEqual(['First.', 'Second.', 'Third.']);
      expect(answers.at(-1)?.['content']).toBe('Done.');
    });

    it('reasoning is not in the content', async () => {
      const { response } = await translation.turn({ model, input: 'Hello' }, ANSWER);
      const [, answer] = await translation.messages({ model, previous_response_id: response.id, input: 'And?' });
      expect(answer?.['content']).toBe('Hi.');
    });
  });

  it('reasoning for an upstream that reads none is left out', async () => {
    const { response } = await translation.turn({ input: 'Hello' }, ANSWER);
    expect(await translation.messages({ previous_response_id: response.id, input: 'And?' })).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi.' },
      { role: 'user', content: 'And?' },
    ]);
    expect(await translation.messages({ input: [user('Hello'), thought('Hm.'), user('And?')] })).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'user', content: 'And?' },
    ]);
  });

  it('reasoning is encrypted only for clients that ask for it', async () => {
    const { response } = await translation.turn({ input: 'Hello' }, ANSWER);
    expect(itemsOf(response)[0]).toEqual({
      id: expect.stringMatching(/^rs_/) as unknown,
      type: 'reasoning',
      status: 'completed',
      summary: [],
      content: [{ type: 'reasoning_text', text: THOUGHT }],
    });
  });

  it('reasoning is encrypted without anything to see but its form', async () => {
    const { response } = await translation.turn({ input: 'Hello', ...STATELESS }, ANSWER);
    const [item] = itemsOf(response);
    expect(String(item?.['encrypted_content'])).toMatch(/^[\x21-\x7e]+$/);
    expect(String(item?.['encrypted_content'])).not.toContain('greets');
  });
});
