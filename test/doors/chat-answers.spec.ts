import { afterAll, describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';

import { Clock, type ModelEvent } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { describeService, useService } from '../support/describe-service.js';
import { WatchedClock } from '../support/clocks.js';

const ASK = { model: 'scripted', messages: [{ role: 'user', content: 'Hi' }] };

type Completion = OpenAI.ChatCompletion;
type Chunk = OpenAI.ChatCompletionChunk;

/** A text in pieces. */
const says = (...pieces: readonly string[]): readonly ModelEvent[] => pieces.map((delta) => ({ type: 'text', delta }));

describeService('answers of Chat Completions', { providers: [ScriptedProvider] }, (service) => {
  async function create(members: object = {}): Promise<Completion> {
    const { status, body } = await service.api.post('chat/completions', { ...ASK, ...members });
    if (status !== 200) throw new Error(JSON.stringify({ status, ...body }));
    return body as unknown as Completion;
  }

  /** What stands in the data of the events of a stream, in order; `[DONE]` is the text. */
  async function stream(members: object = {}): Promise<readonly (Chunk | string)[]> {
    const answer = await fetch(`${service.baseURL}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...ASK, stream: true, ...members }),
    });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    const frames = (await answer.text()).split('\n\n').filter((frame) => frame !== '');
    return frames.map((frame) => {
      const data = frame.replace(/^data: /, '');
      return data === '[DONE]' ? data : (JSON.parse(data) as Chunk);
    });
  }

  /** The text that chunks say, and the reason of their end. */
  function said(chunks: readonly (Chunk | string)[]): readonly [text: string, reason: string | undefined] {
    const choices = chunks.flatMap((chunk) => (typeof chunk === 'string' ? [] : chunk.choices));
    const reasons = choices.flatMap(({ finish_reason: reason }) => reason ?? []);
    return [choices.map(({ delta }) => delta.content ?? '').join(''), reasons.join()];
  }

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['content_filter', 'content_filter'],
  ] as const)('answers of Chat Completions end with the reason of the model: %s', async (reason, expected) => {
    const script: readonly ModelEvent[] = [...says('Hel', 'lo'), { type: 'finish', reason }];
    service.provider.reply(...script).reply(...script);
    const { choices } = await create();
    expect(choices).toMatchObject([{ message: { content: 'Hello' }, finish_reason: expected }]);
    const chunks = await stream();
    expect(said(chunks)).toEqual(['Hello', expected]);
    expect(chunks.at(-1)).toBe('[DONE]');
  });

  it('answers of Chat Completions place citations in the one text that a completion has, also of later parts', async () => {
    const cited = { type: 'url_citation', url: 'https://a.test', title: 'A', start_index: 0, end_index: 3 } as const;
    const script: readonly ModelEvent[] = [
      { type: 'text', delta: 'One. ', key: 'first' },
      { type: 'end', key: 'first' },
      { type: 'text', delta: 'Two.', key: 'second' },
      { type: 'annotation', annotation: cited, key: 'second' },
    ];
    service.provider.reply(...script).reply(...script);
    const placed = [{ type: 'url_citation', url_citation: { start_index: 5, end_index: 8 } }];
    expect((await create()).choices).toMatchObject([{ message: { content: 'One. Two.', annotations: placed } }]);
    const chunks = (await stream()).filter((chunk): chunk is Chunk => typeof chunk !== 'string');
    expect(chunks.map(({ choices: [choice] }) => choice?.delta)).toContainEqual(
      expect.objectContaining({
        annotations: [
          expect.objectContaining({ url_citation: expect.objectContaining(placed[0]?.url_citation ?? {}) }),
        ],
      }),
    );
  });

  it('answers of Chat Completions have log probabilities, citations, reasoning and its seal, in both forms', async () => {
    const logprobs = [
      { token: 'Hello', logprob: -0.5, bytes: [72], top_logprobs: [{ token: 'Hi', logprob: -1, bytes: [72] }] },
    ];
    const annotation = {
      type: 'url_citation',
      url: 'https://a.test',
      title: 'A',
      start_index: 0,
      end_index: 5,
    } as const;
    const script: readonly ModelEvent[] = [
      { type: 'reasoning', delta: 'Let me ' },
      { type: 'reasoning', delta: '"think".' },
      { type: 'reasoning_encrypted', plain: 'Let me "think".' },
      { type: 'text', delta: 'Hello', logprobs },
      { type: 'annotation', annotation },
      { type: 'usage', input: 10, cached: 4, output: 7, reasoning: 2 },
    ];
    service.provider.reply(...script).reply(...script);
    const { choices, usage } = await create({ logprobs: true, top_logprobs: 1 });
    expect(choices).toMatchObject([
      {
        message: {
          content: 'Hello',
          reasoning_content: 'Let me "think".',
          reasoning_details: [{ type: 'reasoning.encrypted', index: 0 }],
          annotations: [
            { type: 'url_citation', url_citation: { url: 'https://a.test', start_index: 0, end_index: 5 } },
          ],
        },
        logprobs: { content: logprobs, refusal: null },
      },
    ]);
    expect(usage).toMatchObject({
      prompt_tokens: 10,
      completion_tokens: 7,
      total_tokens: 17,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 2 },
    });
    const chunks = (await stream({ logprobs: true, stream_options: { include_usage: true } })).filter(
      (chunk): chunk is Chunk => typeof chunk !== 'string',
    );
    const deltas = chunks.flatMap(({ choices: [choice] }) => (choice === undefined ? [] : [choice]));
    expect(deltas.map(({ delta }) => delta)).toMatchObject([
      { role: 'assistant' },
      { reasoning_content: 'Let me ' },
      { reasoning_content: '"think".' },
      { reasoning_details: [{ type: 'reasoning.encrypted' }] },
      { content: 'Hello' },
      { annotations: [{ type: 'url_citation' }] },
      {},
    ]);
    expect(deltas[4]?.logprobs).toEqual({ content: logprobs, refusal: null });
    expect(chunks.at(-1)?.usage).toEqual(usage);

    const message = choices[0]?.message;
    service.provider.turns.length = 0;
    await create({ messages: [...ASK.messages, message, { role: 'user', content: 'And?' }] });
    expect(service.provider.turns[0]?.context[1]).toMatchObject({
      type: 'reasoning',
      content: [{ type: 'reasoning_text', text: 'Let me "think".' }],
    });
  });

  it('answers of Chat Completions hide the lengths of their texts, unless told not to', async () => {
    service.provider.reply(...says('Hello')).reply(...says('Hello'));
    const padded = (await stream()) as readonly Chunk[];
    const plain = (await stream({ stream_options: { include_obfuscation: false } })) as readonly Chunk[];
    expect(padded[1]?.obfuscation).toHaveLength(11);
    expect(JSON.stringify(plain)).not.toContain('obfuscation');
  });

  it('answers of Chat Completions tell of a failure in the middle of a stream, and end it', async () => {
    service.provider.play(async function* () {
      yield { type: 'text', delta: 'Hel' };
      throw new Error('broken');
    });
    const chunks = await stream();
    expect(said(chunks.slice(0, -2))).toEqual(['Hel', '']);
    expect(chunks.slice(-2)).toMatchObject([{ error: { type: 'server_error', code: 'server_error' } }, '[DONE]']);
  });

  it('answers of Chat Completions are errors where a response has failed', async () => {
    service.provider.play(async function* () {
      yield { type: 'text', delta: 'Hel' };
      throw new Error('broken');
    });
    const { status, body } = await service.api.post('chat/completions', ASK);
    expect([status, body]).toMatchObject([500, { error: { type: 'server_error', code: 'server_error' } }]);
  });

  it('answers of Chat Completions find no stop sequence with a call in its middle, whose beginning was said before the call', async () => {
    const script: readonly ModelEvent[] = [
      { type: 'text', delta: 'one E', key: 'first' },
      { type: 'end', key: 'first' },
      { type: 'function_call', name: 'look', callId: 'call_1', key: 'call' },
      { type: 'function_call_arguments', delta: '{}', key: 'call' },
      { type: 'end', key: 'call' },
      { type: 'text', delta: 'ND two', key: 'second' },
    ];
    service.provider.reply(...script).reply(...script);
    const tools = [{ type: 'function', function: { name: 'look' } }];
    const { choices } = await create({ stop: 'END', tools });
    expect(choices).toMatchObject([{ message: { content: 'one END two' }, finish_reason: 'tool_calls' }]);
    expect(said(await stream({ stop: 'END', tools }))).toEqual(['one END two', 'tool_calls']);
  });

  it.each([
    ['one', ['one two'], 'END', 'one two', 'stop'],
    ['across pieces', ['one E', 'N', 'D two'], ['END'], 'one ', 'stop'],
    ['the first of several', ['a#b', '!c'], ['!', '#'], 'a', 'stop'],
    ['a beginning that does not come true', ['a E', 'N', 'OUGH'], ['END'], 'a ENOUGH', 'stop'],
    ['a beginning at the end', ['a E'], ['END'], 'a E', 'stop'],
  ] as const)('answers of Chat Completions end at a stop sequence: %s', async (_name, pieces, stop, text, reason) => {
    service.provider.reply(...says(...pieces)).reply(...says(...pieces));
    const { choices } = await create({ stop });
    expect(choices).toMatchObject([{ message: { content: text }, finish_reason: reason }]);
    expect(said(await stream({ stop }))).toEqual([text, reason]);
  });

  it.each([
    ['in the middle of a token', ['one ', 'tw', 'o!'], 'wo', 'one t', ['one ', 'tw']],
    ['at the beginning of a token', ['one ', 'END', ' two'], 'END', 'one ', ['one ']],
    ['at the very beginning', ['END'], 'END', '', []],
    ['nowhere', ['one ', 'EN', 'OUGH'], 'END', 'one ENOUGH', ['one ', 'EN', 'OUGH']],
  ] as const)(
    'answers of Chat Completions have log probabilities up to a stop sequence that begins %s',
    async (_name, pieces, stop, text, tokens) => {
      const script = pieces.map((delta): ModelEvent => ({
        type: 'text',
        delta,
        logprobs: [{ token: delta, logprob: -1, bytes: [], top_logprobs: [] }],
      }));
      service.provider.reply(...script).reply(...script);
      const request = { stop, logprobs: true };
      const [whole] = (await create(request)).choices;
      expect([whole?.message.content, whole?.logprobs?.content?.map(({ token }) => token) ?? []]).toEqual([
        text,
        tokens,
      ]);
      const chunks = await stream(request);
      const choices = chunks.flatMap((chunk) => (typeof chunk === 'string' ? [] : chunk.choices));
      const streamed = choices.flatMap((choice) => choice.logprobs?.content ?? []);
      expect([said(chunks)[0], streamed.map(({ token }) => token)]).toEqual([text, tokens]);
    },
  );

  it('answers of Chat Completions keep the calls before a stop sequence, and have none behind it', async () => {
    const script: readonly ModelEvent[] = [
      { type: 'function_call', name: 'look', callId: 'call_1' },
      { type: 'function_call_arguments', delta: '{}' },
      { type: 'end' },
      ...says('one END'),
      { type: 'end' },
      { type: 'function_call', name: 'look', callId: 'call_2' },
      { type: 'function_call_arguments', delta: '{}' },
    ];
    service.provider.reply(...script).reply(...script);
    const request = { stop: 'END', tools: [{ type: 'function', function: { name: 'look' } }] };
    const { choices } = await create(request);
    expect(choices).toMatchObject([
      { message: { content: 'one ', tool_calls: [{ id: 'call_1' }] }, finish_reason: 'stop' },
    ]);
    const chunks = await stream(request);
    expect(said(chunks)).toEqual(['one ', 'stop']);
    expect(JSON.stringify(chunks)).toContain('call_1');
    expect(JSON.stringify(chunks)).not.toContain('call_2');
  });

  it('answers of Chat Completions say what they hold back for a stop sequence before a call', async () => {
    service.provider.reply(...says('Let me E'), { type: 'end' }, { type: 'function_call', name: 'look' });
    const chunks = (await stream({
      stop: 'END',
      tools: [{ type: 'function', function: { name: 'look' } }],
    })) as Chunk[];
    expect(said(chunks)).toEqual(['Let me E', 'tool_calls']);
    const places = ['"content":"E"', '"name":"look"'].map((part) =>
      chunks.findIndex((chunk) => JSON.stringify(chunk).includes(part)),
    );
    expect(places).toEqual([2, 3]);
  });

  it('answers of Chat Completions end the turn at a stop sequence of a stream: the model is not asked for more', async () => {
    let wasStopped = false;
    let hasGoneOn = false;
    service.provider.play(async function* (_turn, { signal }) {
      try {
        yield { type: 'text', delta: 'one END' };
        hasGoneOn = true;
      } finally {
        wasStopped = signal.aborted;
      }
    });
    expect(said(await stream({ stop: 'END' }))).toEqual(['one ', 'stop']);
    expect([wasStopped, hasGoneOn]).toEqual([true, false]);
  });
});

describe('a silent stream', () => {
  const clock = new WatchedClock();
  // Before it closes.
  afterAll(() => clock.letGo());
  const service = useService({ providers: [ScriptedProvider], overrides: [[Clock, clock]] });

  it('a silent stream has comments, which clients skip', async () => {
    const silent = Promise.withResolvers<undefined>();
    const more = Promise.withResolvers<undefined>();
    service.provider.play(async function* () {
      yield { type: 'text', delta: 'Hello' };
      silent.resolve(undefined);
      await more.promise;
      yield { type: 'finish', reason: 'stop' };
    });
    const { body } = await fetch(`${service.baseURL}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...ASK, stream: true }),
    });
    const texts = (body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream());
    let received = '';
    for await (const text of texts) {
      received += text;
      if (received.includes(': keepalive')) more.resolve(undefined);
      else if (received.includes('"Hello"')) {
        await silent.promise;
        clock.advance(15_000);
      }
    }
    expect(received).toMatch(/"Hello".*\n\n: keepalive\n\ndata: .*"finish_reason":"stop"/s);
    expect(received).not.toMatch(/^event:/m);
  });
});
