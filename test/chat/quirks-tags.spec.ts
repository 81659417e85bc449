import { describe, expect, it } from '@jest/globals';

import { callChunk, chunk, completion, entry, finish, streamOf } from './chunk-stream.js';
import { textReply } from '../support/chat-upstream/reply.js';
import { saidIn, type SaidItem } from '../support/output.js';
import { MODEL, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';
import { SSE_TRANSPORT, TRANSPORTS } from '../support/transports.js';

const CASES: readonly (readonly [what: string, content: string, said: readonly SaidItem[]])[] = [
  ['at the beginning', '<think>Two.</think>Four.', [{ reasoning: 'Two.' }, { text: 'Four.' }]],
  ['behind blanks', '\n <think>Two.</think>Four.', [{ reasoning: 'Two.' }, { text: 'Four.' }]],
  ['with lines of its own', '<think>\nTwo.\n</think>\n\nFour.', [{ reasoning: '\nTwo.\n' }, { text: '\n\nFour.' }]],
  ['under another name', '<reasoning>Two.</reasoning>Four.', [{ reasoning: 'Two.' }, { text: 'Four.' }]],
  ['never closed', '<think>Two. So', [{ reasoning: 'Two. So' }]],
  ['never closed, at the beginning of its end', '<think>Two.</thi', [{ reasoning: 'Two.</thi' }]],
  [
    'with other tags in it',
    '<think><b></reasoning><think>x</think>Four.',
    [{ reasoning: '<b></reasoning><think>x' }, { text: 'Four.' }],
  ],
  ['in the middle', 'Well. <think>Two.</think>Four.', [{ text: 'Well. ' }, { reasoning: 'Two.' }, { text: 'Four.' }]],
  [
    'twice',
    '<think>One.</think>Hm.<think>Two.</think>Four.',
    [{ reasoning: 'One.' }, { text: 'Hm.' }, { reasoning: 'Two.' }, { text: 'Four.' }],
  ],
  ['and empty', '<think></think>Four.', [{ text: 'Four.' }]],
  ['only begun', 'a < b <thin', [{ text: 'a < b <thin' }]],
  ['only begun, twice', '<<think>Two.</think>', [{ text: '<' }, { reasoning: 'Two.' }]],
  ['only closed', 'Four.</think> Five.', [{ text: 'Four.</think> Five.' }]],
  [
    'in none of these forms',
    '<Think>Two.</Think> < think > <thinking>',
    [{ text: '<Think>Two.</Think> < think > <thinking>' }],
  ],
  ['nowhere', '  Plain.\n', [{ text: '  Plain.\n' }]],
];

describe('reasoning between tags', () => {
  const service = useService(() => startChatService({ provider: { reasoning_tags: ['think', 'reasoning'] } }));

  describe.each(TRANSPORTS)('over $name', (transport) => {
    const say = async (): Promise<readonly SaidItem[]> =>
      saidIn((await transport.run(service, { model: MODEL, input: 'Go on.' })).response);

    it.each(CASES)('reasoning between tags is found %s', async (_, content, said) => {
      service.upstream.replay(streamOf([chunk({ content }), finish()]));
      expect(await say()).toEqual(said);
    });

    it.each(CASES)('reasoning between tags is found in deltas of one character %s', async (_, content, said) => {
      service.upstream.replay(streamOf(Array.from(content, (letter) => chunk({ content: letter })).concat(finish())));
      expect(await say()).toEqual(said);
    });

    it.each(CASES)('reasoning between tags is found in one body %s', async (_, content, said) => {
      const body = JSON.stringify(completion({ content }, { finish_reason: 'stop' }));
      service.upstream.respond(textReply(body, 'application/json'));
      expect(await say()).toEqual(said);
    });

    it.each(CASES)(
      'reasoning between tags is read once where the last chunk is the whole message: %s',
      async (_, content, said) => {
        const pieces = [content.slice(0, 9), content.slice(9)].map((piece) => chunk({ content: piece }));
        service.upstream.replay(streamOf([...pieces, completion({ content }, { finish_reason: 'stop' })]));
        expect(await say()).toEqual(said);
      },
    );

    it.each(CASES)(
      'reasoning between tags is read once where the whole message is beside each delta: %s',
      async (_, content, said) => {
        const pieces = Array.from(content, (letter, index) =>
          chunk({ content: letter }, { message: { role: 'assistant', content: content.slice(0, index + 1) } }),
        );
        service.upstream.replay(streamOf([...pieces, chunk({}, { message: { content }, finish_reason: 'stop' })]));
        expect(await say()).toEqual(said);
      },
    );

    it('reasoning between tags goes on in a message beside a delta that lacks the rest', async () => {
      const message = { content: '<think>Two.</think>Four <' };
      const last = chunk({}, { message, finish_reason: 'stop' });
      service.upstream.replay(streamOf([chunk({ content: '<think>Tw' }), last]));
      expect(await say()).toEqual([{ reasoning: 'Two.' }, { text: 'Four <' }]);
    });
  });

  it.each([
    ['what may become a tag', 'Look <', [{ text: 'Look <' }]],
    ['a tag that is not closed', '<think>Look', [{ reasoning: 'Look' }]],
  ] as const)('reasoning between tags ends with a call: %s', async (_, content, said) => {
    const call = callChunk([entry('look', '{}', { index: 0, id: 'call_one' })]);
    service.upstream.replay(streamOf([chunk({ content }), call, finish('tool_calls')]));
    const { response } = await SSE_TRANSPORT.run(service, { model: MODEL, input: 'Go on.' });
    expect(saidIn(response)).toEqual([...said, { call: 'look', arguments: '{}' }]);
  });

  it('reasoning between tags is complete in a stream that ends without a finish reason', async () => {
    service.upstream.replay(streamOf([chunk({ content: '<' })]));
    const { response } = await SSE_TRANSPORT.run(service, { model: MODEL, input: 'Go on.' });
    expect(saidIn(response)).toEqual([{ text: '<' }]);
  });
});

describe('a provider without reasoning_tags', () => {
  const service = useService(() => startChatService());

  it.each(TRANSPORTS)('a provider without reasoning_tags has the tags in the text, over $name', async (transport) => {
    service.upstream.replay(streamOf([chunk({ content: '<think>Two.</think>Four.' }), finish()]));
    const { response } = await transport.run(service, { model: MODEL, input: 'Go on.' });
    expect(saidIn(response)).toEqual([{ text: '<think>Two.</think>Four.' }]);
  });
});
