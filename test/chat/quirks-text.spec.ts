import { expect, it } from '@jest/globals';

import { chunk, completion, finish, openStreamOf, streamOf } from './chunk-stream.js';
import type { ChatLogprob } from '../support/chat-upstream/chat-answer.js';
import type { Quirks } from '../support/chat-upstream/quirks.js';
import { saidIn } from '../support/output.js';
import { deltasOf, runTurn, sendTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { describeService } from '../support/describe-service.js';
import { ServiceLog } from '../support/service-log.js';
import type { Refusal } from '../support/transport.js';

const TEXT = ['Grüezi', ' mit', 'enand ', '🏔️'];

/** Other wordings of the same answer. */
const WORDINGS: readonly (readonly [wording: string, quirks: Quirks])[] = [
  ['as OpenAI does', {}],
  ['without a chunk that only says who speaks', { roleChunk: false }],
  ['with the role in every chunk', { roleEverywhere: true }],
  ['with content that is null at first and last', { silentContent: 'null' }],
  ['with content that is empty at first and last', { silentContent: 'empty' }],
  ['with other members that are null', { nullMembers: true }],
  ['with chunks without choices between', { emptyChoices: true }],
  ['with chunks that lack choices between', { noChoices: 'absent' }],
  ['with chunks whose choices are null between', { noChoices: 'null' }],
  ['with a second choice between', { secondChoice: true }],
  ['without an index of the choice', { choiceIndex: 'absent' }],
  ['in messages instead of deltas', { message: true }],
  ['with finish reasons that are empty at first', { unfinished: 'empty' }],
  ['with finish reasons that are missing at first', { unfinished: 'absent' }],
  ['with the finish reason in the last piece', { finishWithContent: true }],
  ['with the finish reason twice', { finishTwice: true }],
  ['as parts of the content', { contentParts: true }],
  ['with members of its own', { chunkMembers: { provider: 'P', x_vendor: { id: 1 }, timings: null } }],
  ['with usage that is null', { nullUsage: true }],
  ['with an error that is null', { chunkMembers: { error: null } }],
  [
    'with all that at once',
    {
      roleEverywhere: true,
      nullMembers: true,
      emptyChoices: true,
      noChoices: 'null',
      secondChoice: true,
      unfinished: 'empty',
      finishTwice: true,
      contentParts: true,
      nullUsage: true,
    },
  ],
];

describeService(
  'text of an upstream',
  () => startChatService({ provider: { retries: 0 } }),
  (service) => {
    it.each(WORDINGS)('text of an upstream is streamed piece by piece when it is said %s', async (_, quirks) => {
      const turn = await runTurn(service, { text: TEXT }, quirks);
      expect(turn.response.status).toBe('completed');
      expect(saidIn(turn.response)).toEqual([{ text: TEXT.join('') }]);
      expect(deltasOf(turn, 'response.output_text.delta')).toEqual(TEXT);
    });

    it.each<[string, Quirks]>([
      ['as a whole', {}],
      ['as a whole, in parts', { contentParts: true }],
    ])('text of an upstream comes through when the upstream does not stream and says it %s', async (_, quirks) => {
      const turn = await runTurn(service, { text: TEXT }, { json: true, ...quirks });
      expect(turn.response.status).toBe('completed');
      expect(saidIn(turn.response)).toEqual([{ text: TEXT.join('') }]);
    });

    it.each<[what: string, pieces: readonly object[], whole: object]>([
      [
        'an object',
        [{ content: { type: 'text', text: 'Good ' } }, { content: { text: 'day.' } }],
        { content: { text: 'Good day.' } },
      ],
      ['a list of texts', [{ content: ['Good ', 'day.'] }], { content: ['Good day.'] }],
      [
        'a part whose text is an object',
        [{ content: [{ type: 'text', text: { value: 'Good day.' } }] }],
        { content: [{ type: 'text', text: { value: 'Good day.' } }] },
      ],
      [
        'the words of a sound',
        [{ audio: { id: 'a', transcript: 'Good ' } }, { audio: { transcript: 'day.' } }, { audio: { data: 'AAAA' } }],
        { content: null, audio: { id: 'a', data: 'AAAA', transcript: 'Good day.' } },
      ],
      [
        'the words of a sound that stand in the content, too',
        [
          { content: 'Good ', audio: { transcript: 'Good ' } },
          { content: 'day.', audio: { transcript: 'day.' } },
        ],
        { content: 'Good day.', audio: { data: 'AAAA', transcript: 'Good day.' } },
      ],
    ])('text of an upstream is read from %s', async (_, pieces, whole) => {
      for (const body of [
        streamOf([...pieces.map((delta) => chunk(delta)), finish()]),
        JSON.stringify(completion(whole, { finish_reason: 'stop' })),
      ]) {
        service.upstream.replay(body);
        const { response } = await sendTurn(service);
        expect(response.status).toBe('completed');
        expect(saidIn(response)).toEqual([{ text: 'Good day.' }]);
      }
    });

    it.each<[what: string, content: unknown, said: string]>([
      ['a number', 42, '42'],
      ['a boolean', [true], 'true'],
      ['an object of its own', { city: 'Bern' }, '{"city":"Bern"}'],
      ['a part with its text as content', [{ type: 'text', content: 'Good day.' }], 'Good day.'],
      ['a part of sound with its words', [{ type: 'output_audio', transcript: 'Good day.' }], 'Good day.'],
      ['a list of parts in an object', { parts: [{ text: 'Good ' }, { text: 'day.' }] }, 'Good day.'],
    ])('text of an upstream is read from content that is %s', async (_, content, said) => {
      for (const body of [streamOf([chunk({ content }), finish()]), JSON.stringify(completion({ content }))]) {
        service.upstream.replay(body);
        expect(saidIn((await sendTurn(service)).response)).toEqual([{ text: said }]);
      }
    });

    it.each<[what: string, said: object, form: string]>([
      [
        'a part of another type',
        { content: [{ type: 'video_url', video_url: { url: 'https://a.test' } }] },
        'video_url',
      ],
      ['a member of another name', { output_image: 'iVBORw0KGgo=' }, 'output_image'],
      ['a sound without its words', { audio: { data: 'AAAA' } }, 'audio'],
      ['the output of a tool', { role: 'tool', content: 'noon' }, 'tool'],
    ])('an answer of an upstream with nothing but %s fails, and the error names it', async (_, said, form) => {
      for (const body of [
        streamOf([chunk(said), finish()]),
        JSON.stringify(completion(said, { finish_reason: 'stop' })),
      ]) {
        service.upstream.replay(body);
        const error = await sendTurn(service).then(
          () => undefined,
          (refusal: unknown) => refusal as Refusal,
        );
        expect(error).toMatchObject({ status: 502, error: { code: 'server_error' } });
        expect(error?.error['message']).toContain(`'${form}'`);
      }
    });

    it('text of an upstream is told from the output of a tool, and the log says once that this is left out', async () => {
      using log = ServiceLog.begin();
      for (const call of [1, 2]) {
        const output = chunk({ role: 'tool', tool_call_id: `call_${call}`, content: 'noon' });
        service.upstream.replay(
          streamOf([
            chunk({ role: 'assistant', content: 'It is ' }),
            output,
            chunk({ role: null, content: 'sharp' }),
            chunk({ role: 'assistant', content: '12.' }),
            finish(),
          ]),
        );
        expect(saidIn((await sendTurn(service)).response)).toEqual([{ text: 'It is 12.' }]);
      }
      expect(log.complaints).toEqual([expect.stringContaining("a message of the role 'tool'")]);
    });

    it('text of an upstream is read without a word in the log about members that say what a message is', async () => {
      using log = ServiceLog.begin();
      const about = { message_id: 'm1', content_type: 'text', provider_metadata: { region: 'eu' } };
      service.upstream.replay(streamOf([chunk({ content: '', ...about }), chunk({ content: 'Good day.' }), finish()]));
      expect(saidIn((await sendTurn(service)).response)).toEqual([{ text: 'Good day.' }]);
      expect(log.complaints).toEqual([]);
    });

    it.each<[what: string, choice: object]>([
      ['a delta that is text', { delta: 'Good day.' }],
      ['a text beside an empty delta', { delta: {}, text: 'Good day.' }],
      ['a message that is text', { message: 'Good day.' }],
      ['content in place of a delta', { content: 'Good day.' }],
      ['a text as the member of a delta', { delta: { text: 'Good day.' } }],
      ['its reason under another name', { delta: { content: 'Good day.' }, stop_reason: 'end_turn' }],
    ])('text of an upstream is read from the only chunk, whose choice has %s', async (_, choice) => {
      service.upstream.replay(openStreamOf([{ choices: [{ finishReason: 'stop', ...choice }] }]));
      const { response } = await sendTurn(service);
      expect([response.status, saidIn(response)]).toEqual(['completed', [{ text: 'Good day.' }]]);
    });

    it.each<[what: string, choice: object]>([
      ['an index that is text', { index: '0', delta: { content: 'Good day.' } }],
      ['an index that does not start at zero', { index: 1, delta: { content: 'Good day.' } }],
      ['a text in place of a delta', { index: 0, text: 'Good day.' }],
    ])('text of an upstream is read from a choice with %s', async (_, choice) => {
      service.upstream.replay(
        streamOf([{ choices: [choice] }, { choices: [{ ...choice, delta: {}, finish_reason: 'stop' }] }]),
      );
      const { response } = await sendTurn(service);
      expect(response.status).toBe('completed');
      expect(saidIn(response)).toEqual([{ text: 'Good day.' }]);
    });

    it.each<[what: string, choicesOf: (choice: object) => object]>([
      ['the only choice', (choice) => choice],
      ['choices by their number', (choice) => ({ 0: choice })],
    ])('text of an upstream is read where its choices are no list but %s', async (_, choicesOf) => {
      const choices = [
        { index: 0, delta: { content: 'Good ' } },
        { index: 0, delta: { content: 'day.' } },
        { index: 0, delta: {}, finish_reason: 'stop' },
      ].map(choicesOf);
      service.upstream.replay(streamOf(choices.map((each) => ({ choices: each }))));
      const { response } = await sendTurn(service);
      expect(response.status).toBe('completed');
      expect(saidIn(response)).toEqual([{ text: 'Good day.' }]);
    });

    it('a refusal of an upstream may be a part of the content', async () => {
      service.upstream.replay(streamOf([chunk({ content: [{ type: 'refusal', refusal: 'No.' }] }), finish()]));
      const { response } = await sendTurn(service);
      expect(saidIn(response)).toEqual([{ refusal: 'No.' }]);
    });

    it('empty pieces of text make no item', async () => {
      const { response } = await runTurn(service, [{ text: ['', ''] }, { toolCalls: [{ name: 'look' }] }]);
      expect(saidIn(response)).toEqual([{ call: 'look', arguments: '{}' }]);
    });

    it('an answer that says nothing is completed', async () => {
      const { response } = await runTurn(service, {});
      expect(response).toMatchObject({ status: 'completed', usage: { input_tokens: 11 } });
      expect(saidIn(response).filter((said) => !('text' in said && said.text === ''))).toEqual([]);
    });

    it('refusals of an upstream are streamed as refusals', async () => {
      const turn = await runTurn(service, { refusal: ['I will', ' not.'] });
      expect(saidIn(turn.response)).toEqual([{ refusal: 'I will not.' }]);
      expect(deltasOf(turn, 'response.refusal.delta')).toEqual(['I will', ' not.']);
    });

    it('text and a refusal behind it are kept apart', async () => {
      const { response } = await runTurn(service, { text: 'Well.', refusal: 'No.' });
      expect(saidIn(response)).toEqual([{ text: 'Well.' }, { refusal: 'No.' }]);
    });

    it('text of an upstream hands on logprobs with the pieces they belong to', async () => {
      const first: ChatLogprob = {
        token: 'Hel',
        logprob: -0.1,
        bytes: [72, 101, 108],
        top_logprobs: [{ token: 'Hal', logprob: -2, bytes: null }],
      };
      const second: ChatLogprob = { token: 'lo', logprob: -0.2, bytes: null, top_logprobs: [] };
      const turn = await runTurn(service, { text: ['Hel', 'lo'], logprobs: [[first], [second]] }, undefined, {
        include: ['message.output_text.logprobs'],
        top_logprobs: 1,
      });
      const whole = [
        { token: 'Hel', logprob: -0.1, bytes: [72, 101, 108], top_logprobs: [{ token: 'Hal', logprob: -2 }] },
        { token: 'lo', logprob: -0.2, top_logprobs: [] },
      ];
      expect(turn.response['output']).toMatchObject([{ content: [{ text: 'Hello', logprobs: whole }] }]);
      const deltas = turn.events?.filter(({ type }) => type === 'response.output_text.delta');
      expect(deltas).toMatchObject([
        { delta: 'Hel', logprobs: [{ token: 'Hel', logprob: -0.1 }] },
        { delta: 'lo', logprobs: [{ token: 'lo', logprob: -0.2 }] },
      ]);
    });

    it('text of an upstream comes through whole when it comes all at once', async () => {
      const turn = await runTurn(service, { text: TEXT }, { together: true });
      expect(saidIn(turn.response)).toEqual([{ text: TEXT.join('') }]);
    });

    it.each<[string, Quirks]>([
      ['[DONE]', { afterDone: true }],
      ['[DONE], all in one packet', { afterDone: true, together: true }],
    ])('nothing that the upstream says behind %s is text', async (_, quirks) => {
      const { response } = await runTurn(service, { text: 'All.' }, quirks);
      expect(saidIn(response)).toEqual([{ text: 'All.' }]);
    });
  },
);
