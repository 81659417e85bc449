import { expect, it } from '@jest/globals';

import type { Quirks } from '../support/chat-upstream/quirks.js';
import { chunk, completion, finish, openStreamOf, streamOf } from './chunk-stream.js';
import { saidIn } from '../support/output.js';
import { MODEL, runTurn, sendTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { describeService } from '../support/describe-service.js';
import { requireRule } from '../../src/testing/events/rule.js';
import type { WireEvent } from '../../src/testing/index.js';
import { openStream } from '../support/sse.js';

const ANSWER = {
  reasoning: ['Ein Gedanke: ', '思考', ' 💭'],
  text: ['Grüezi ', '👩‍👩‍👧', ' – "quoted"\n\ndata: [DONE]\n', '\u2028 end'],
  toolCalls: [{ name: 'look', arguments: ['{"at":"', 'Zürich 🏔️', '"}'] }],
};
const SAID = [
  { reasoning: 'Ein Gedanke: 思考 💭' },
  { text: 'Grüezi 👩‍👩‍👧 – "quoted"\n\ndata: [DONE]\n\u2028 end' },
  { call: 'look', arguments: '{"at":"Zürich 🏔️"}' },
];

const FRAMINGS: readonly (readonly [framing: string, quirks: Quirks])[] = [
  ['line feeds', {}],
  ['carriage returns and line feeds', { lineEnd: '\r\n' }],
  ['carriage returns', { lineEnd: '\r' }],
  ['comments between', { comments: true }],
  ['comments between, and CRLF', { comments: true, lineEnd: '\r\n' }],
  ['blank lines between', { blankLines: true }],
  ['no blank lines between', { tight: true }],
  ['no blank lines between, and CRLF', { tight: true, lineEnd: '\r\n' }],
  ['no blank lines between, and carriage returns', { tight: true, lineEnd: '\r' }],
  ['no blank lines between, and names of events', { tight: true, eventName: 'message' }],
  ['names of events', { eventName: 'message' }],
  ['names of events that nobody knows', { eventName: 'chat.completion.chunk' }],
  ['ids and retry times', { idLines: true }],
  ['no space behind the colon', { noSpace: true }],
  ['the name of the field twice', { doubledField: true }],
  ['the name of the field twice, and CRLF', { doubledField: true, lineEnd: '\r\n' }],
  ['a line of JSON for each event', { jsonLines: true }],
  ['a line of JSON for each event, and CRLF', { jsonLines: true, lineEnd: '\r\n' }],
  ['a line of JSON for each event, without the end', { jsonLines: true, done: false }],
  ['a line of JSON for each event behind a byte order mark', { jsonLines: true, byteOrderMark: true }],
  ['data over several lines', { multiLine: true }],
  ['data over several lines with CRLF', { multiLine: true, lineEnd: '\r\n' }],
  ['a byte order mark', { byteOrderMark: true }],
  ['no blank line at the end', { openEnd: true }],
  ['no blank line behind the last chunk, which is the last event', { openEnd: true, done: false }],
  ['events behind the end', { afterDone: true }],
  ['a media type with parameters', { headers: { 'content-type': 'text/event-stream; charset=utf-8' } }],
  ['a media type in capitals', { headers: { 'content-type': 'Text/Event-Stream;Charset=UTF-8' } }],
  ['the media type of plain text', { headers: { 'content-type': 'text/plain' } }],
];

describeService(
  'the stream of an upstream',
  () => startChatService(),
  (service) => {
    const expectWhole = async (quirks: Quirks): Promise<void> => {
      const { response } = await runTurn(service, ANSWER, quirks);
      expect(response.status).toBe('completed');
      expect(saidIn(response)).toEqual(SAID);
      expect(response['usage']).toMatchObject({ input_tokens: 11, output_tokens: 7 });
    };

    it.each(FRAMINGS)('the stream of an upstream is read with %s', async (_, quirks) => {
      await expectWhole(quirks);
    });

    it.each(FRAMINGS)('the stream of an upstream is read with %s in packets of single bytes', async (_, quirks) => {
      await expectWhole({ ...quirks, packetBytes: 1 });
    });

    it.each([2, 3, 5, 64, 1000])('the stream of an upstream is read in packets of %i bytes', async (packetBytes) => {
      await expectWhole({ packetBytes, lineEnd: '\r\n' });
    });

    it.each<[ending: string, quirks: Quirks]>([
      ['line feeds', {}],
      ['CRLF', { lineEnd: '\r\n' }],
    ])('the stream of an upstream is passed on as it comes without blank lines between: %s', async (_, quirks) => {
      service.upstream.hold().answer({ text: ['First', ' last'] }, { ...quirks, tight: true });
      const turn = openStream(`${service.baseURL}/responses`, { model: MODEL, input: 'Go on.' });
      // Who speaks, the first text, and the second, whose line ends the event before it.
      service.upstream.release(3);
      const answer = await turn;
      requireRule(answer.streams, 'the turn must begin');
      const isText = ({ type }: WireEvent): boolean => type === 'response.output_text.delta';
      const { events } = answer;
      for (let next = await events.next(); next.done !== true && !isText(next.value);) next = await events.next();
      service.upstream.release();
      expect((await Array.fromAsync(events)).filter(isText)).toMatchObject([{ delta: ' last' }]);
    });

    it('the stream of an upstream is read with everything at once', async () => {
      await expectWhole({
        lineEnd: '\r\n',
        comments: true,
        blankLines: true,
        eventName: 'message',
        idLines: true,
        noSpace: true,
        multiLine: true,
        byteOrderMark: true,
        afterDone: true,
        packetBytes: 7,
      });
    });

    it('the stream of an upstream may be one body in packets of single bytes', async () => {
      await expectWhole({ json: true, packetBytes: 1 });
    });

    it.each<[form: string, body: string, headers?: Readonly<Record<string, string>>]>([
      ['a document behind a byte order mark', `\uFEFF${JSON.stringify(completion({ content: 'Hello' }))}`],
      ['a list of chunks', JSON.stringify([chunk({ content: 'Hel' }), chunk({ content: 'lo' }), finish()])],
      [
        'lines of JSON behind an empty one',
        `\n${[chunk({ content: 'Hel' }), chunk({ content: 'lo' }), finish()].map((each) => JSON.stringify(each)).join('\n')}`,
      ],
      ['a document on many lines', JSON.stringify(completion({ content: 'Hello' }), null, 2)],
      ['a document with empty lines around it', `\n\n${JSON.stringify(completion({ content: 'Hello' }))}\n\n\n`],
      ['events with lists of chunks', streamOf([[chunk({ content: 'Hel' }), chunk({ content: 'lo' })], [finish()]])],
      ['an encoding without a name', streamOf([chunk({ content: 'Hello' }), finish()]), { 'content-encoding': '' }],
      [
        'the charset as its encoding',
        streamOf([chunk({ content: 'Hello' }), finish()]),
        { 'content-encoding': 'UTF-8' },
      ],
    ])('the stream of an upstream is read as %s', async (_, body, headers = {}) => {
      for (const packetBytes of [Infinity, 7]) {
        service.upstream.replay(body, { headers, packetBytes });
        expect(saidIn((await sendTurn(service)).response)).toEqual([{ text: 'Hello' }]);
      }
    });

    const gemini = { candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }] };
    const anthropic = { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Hello' }] };
    const ollama = { model: 'm', message: { role: 'assistant', content: 'Hello' }, done: true, done_reason: 'stop' };
    const ofResponses = { object: 'response', status: 'completed', output: [] };

    it.each<[form: string, body: string, named: string, headers?: Readonly<Record<string, string>>]>([
      ['is of Gemini', streamOf([gemini]), "Gemini's own API (`base_url` must be that of its Chat Completions, which"],
      ['is of Gemini, in a list', JSON.stringify([gemini, gemini]), 'ends with /v1beta/openai'],
      ['is of Anthropic', JSON.stringify(anthropic), "Anthropic's Messages API (`base_url`"],
      [
        'is of Anthropic, in events',
        openStreamOf([
          { type: 'message_start', message: { role: 'assistant', content: [] } },
          { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
          { type: 'message_stop' },
        ]),
        "Anthropic's Messages API",
      ],
      ['is of Ollama', JSON.stringify(ollama), "Ollama's own API (`base_url`"],
      [
        'is of Ollama, in lines',
        [{ ...ollama, done: false }, ollama].map((line) => `${JSON.stringify(line)}\n`).join(''),
        'ends with /v1',
      ],
      ['is of the Responses API', JSON.stringify(ofResponses), 'its entry needs `kind: responses`'],
      ['is of the Responses API, in events', openStreamOf([{ type: 'response.created' }]), 'the Responses API'],
      ['is compressed', 'xyz', 'a body with `content-encoding: br`', { 'content-encoding': 'br' }],
    ])('an upstream whose answer %s fails, and the error says what helps', async (_, body, named, headers = {}) => {
      service.upstream.replay(body, { headers });
      await expect(sendTurn(service)).rejects.toMatchObject({
        status: 502,
        message: expect.stringContaining(named) as unknown,
      });
    });

    it('an upstream whose refusal is compressed is quoted with that', async () => {
      service.upstream.refuse(400, undefined, { 'content-encoding': 'gzip' });
      await expect(sendTurn(service)).rejects.toMatchObject({
        status: 400,
        message: expect.stringContaining('`content-encoding: gzip`') as unknown,
      });
    });

    it('the stream of an upstream is asked for without compression, and with events as the wanted form', async () => {
      await expectWhole({});
      const { headers, body } = service.upstream.requests.at(-1) ?? {};
      expect(body).toMatchObject({ stream: true });
      expect(headers?.['accept']).toContain('text/event-stream');
      expect(headers?.['content-type']).toMatch(/^application\/json/);
    });
  },
);
