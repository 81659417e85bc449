import { expect, it } from '@jest/globals';

import { chunk, finish, streamOf } from './chunk-stream.js';
import type { Quirks } from '../support/chat-upstream/quirks.js';
import { saidIn } from '../support/output.js';
import { deltasOf, runTurn, sendTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { describeService } from '../support/describe-service.js';

const THOUGHTS = ['Two and', ' two', ' make…'];
const ANSWER = { reasoning: THOUGHTS, text: ['Four', '.'] };
const SAID = [{ reasoning: THOUGHTS.join('') }, { text: 'Four.' }];

const WORDINGS: readonly (readonly [wording: string, quirks: Quirks])[] = [
  ['as reasoning_content', { reasoning: 'reasoning_content' }],
  ['as reasoning', { reasoning: 'reasoning' }],
  ['as both, with the same text', { reasoning: 'both' }],
  ['as thinking parts of the content', { reasoning: 'thinking_parts' }],
  ['as thinking parts, and the text as parts too', { reasoning: 'thinking_parts', contentParts: true }],
  ['as a list of details', { reasoning: 'reasoning_details' }],
  ['beside content that is null', { silentContent: 'null' }],
  ['beside content that is empty', { silentContent: 'empty', reasoning: 'reasoning' }],
  ['in messages instead of deltas', { message: true }],
  ['with a second choice between', { secondChoice: true }],
];

describeService(
  'reasoning of an upstream',
  () => startChatService(),
  (service) => {
    it.each<[string, object]>([
      ['a part with a summary', { content: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] }] }],
      [
        'a part with a content',
        { content: [{ type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Hm.' }] }] },
      ],
      ['a part with a text', { content: [{ type: 'reasoning_text', text: 'Hm.' }] }],
      ['a member `thinking`', { thinking: 'Hm.' }],
      ['a member `reasoning_text`', { reasoning_text: 'Hm.' }],
      ['a member with an object', { reasoning: { content: 'Hm.' } }],
      ['a member with a list of parts', { reasoning_content: [{ type: 'text', text: 'Hm.' }] }],
      ['blocks of thinking', { thinking_blocks: [{ type: 'thinking', thinking: 'Hm.' }] }],
      ['a part that is marked as a thought', { content: [{ type: 'text', text: 'Hm.', thought: true }] }],
      ['a part of reasoning content', { content: [{ type: 'reasoning_content', reasoning_content: { text: 'Hm.' } }] }],
      ['thoughts', { thoughts: 'Hm.' }],
      ['several members', { reasoning_text: 'Hm.', reasoning_content: 'Hm.', thinking: 'Hm.' }],
    ])('reasoning of an upstream is read from %s', async (_, delta) => {
      const answer = chunk({ content: [{ type: 'text', text: 'Four.' }] });
      service.upstream.replay(streamOf([chunk(delta), answer, finish()]));
      const { response } = await sendTurn(service);
      expect(saidIn(response)).toEqual([{ reasoning: 'Hm.' }, { text: 'Four.' }]);
    });

    it.each(WORDINGS)(
      'reasoning of an upstream is an item of its own before the text when it is said %s',
      async (_, quirks) => {
        const turn = await runTurn(service, ANSWER, quirks);
        expect(turn.response.status).toBe('completed');
        expect(saidIn(turn.response)).toEqual(SAID);
        expect(deltasOf(turn, 'response.reasoning_text.delta')).toEqual(THOUGHTS);
      },
    );

    it.each(WORDINGS)('reasoning of an upstream comes through in one body when it is said %s', async (_, quirks) => {
      const { response } = await runTurn(service, ANSWER, { ...quirks, json: true });
      expect(saidIn(response)).toEqual(SAID);
    });

    it('reasoning of an upstream stays in its place between texts and calls', async () => {
      const { response } = await runTurn(service, [
        { reasoning: 'One.', text: 'First.' },
        { reasoning: 'Two.', text: 'Second.' },
        { reasoning: 'Three.', toolCalls: [{ name: 'look', arguments: '{"at":1}' }] },
      ]);
      expect(saidIn(response)).toEqual([
        { reasoning: 'One.' },
        { text: 'First.' },
        { reasoning: 'Two.' },
        { text: 'Second.' },
        { reasoning: 'Three.' },
        { call: 'look', arguments: '{"at":1}' },
      ]);
    });

    it('empty thoughts of an upstream make no item', async () => {
      const { response } = await runTurn(service, { reasoning: ['', ''], text: 'Plain.' });
      expect(saidIn(response)).toEqual([{ text: 'Plain.' }]);
    });

    it('reasoning of an upstream is kept when the tokens run out before a word is said', async () => {
      const { response } = await runTurn(service, { reasoning: 'Endless', finish: 'length' });
      expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
      expect(saidIn(response)).toEqual([{ reasoning: 'Endless' }]);
    });

    it('reasoning of an upstream is given to stateless clients in the form in which they carry it back', async () => {
      const include = { include: ['reasoning.encrypted_content'] };
      const { response } = await runTurn(service, ANSWER, {}, include);
      const [item] = response['output'] as readonly { readonly encrypted_content?: unknown }[];
      expect(item?.encrypted_content).toEqual(expect.stringMatching(/./));
      const { response: plain } = await runTurn(service, ANSWER);
      expect((plain['output'] as readonly object[])[0]).not.toHaveProperty('encrypted_content', expect.any(String));
    });

    it('the tokens of reasoning count as part of the output', async () => {
      const usage = { prompt_tokens: 5, completion_tokens: 30, completion_tokens_details: { reasoning_tokens: 20 } };
      const { response } = await runTurn(service, { ...ANSWER, usage });
      expect(response['usage']).toMatchObject({
        output_tokens: 30,
        output_tokens_details: { reasoning_tokens: 20 },
        total_tokens: 35,
      });
    });
  },
);
