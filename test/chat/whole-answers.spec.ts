import { afterAll, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import type { ChatAnswer } from '../support/chat-upstream/chat-answer.js';
import { streamReply, textReply } from '../support/chat-upstream/reply.js';
import { type ChatService, MODEL, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useFreshService, useService } from '../support/describe-service.js';
import { useProvidersFile } from '../support/providers-file.js';
import { SLOW_REFUSALS } from '../support/service.js';
import { withoutIds } from '../support/normalise.js';
import { JSON_TRANSPORT, SSE_TRANSPORT } from '../support/transports.js';
import { WatchedClock } from '../support/clocks.js';

const ASKED = { model: MODEL, input: 'Go on.' };
const LIMITED = { ...ASKED, max_output_tokens: 100 };
const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object' }, strict: false }];

const ANSWERS: readonly (readonly [string, ChatAnswer, object])[] = [
  ['a text', { text: ['One', ' two', ' three'] }, {}],
  ['reasoning and a text', { reasoning: ['Let', ' me see.'], text: ['One', ' two'] }, {}],
  ['a refusal', { refusal: ['I', ' cannot.'] }, {}],
  ['a cut text', { text: ['One', ' two'], finish: 'length' }, {}],
  ['filtered text', { text: ['One'], finish: 'content_filter' }, {}],
  [
    'a text and calls',
    { text: ['Let me look.'], toolCalls: [{ name: 'look', arguments: ['{"at":', '1}'] }, { name: 'look' }] },
    { tools: TOOLS },
  ],
  [
    'log probabilities',
    {
      text: ['One', ' two'],
      logprobs: [[{ token: 'One', logprob: -0.5, bytes: null }], [{ token: ' two', logprob: -0.25 }]],
    },
    { include: ['message.output_text.logprobs'] },
  ],
];

/** Whether requests to the upstream asked for streams, in order. */
function formsOf({ upstream }: ChatService): readonly unknown[] {
  return upstream.requests.map(({ body }) => body.stream);
}

describe('a JSON request', () => {
  const within = useProvidersFile('providers.json', { environment: SLOW_REFUSALS });
  const service = useFreshService(() => startChatService({ within }));

  it.each(ANSWERS)(
    'a JSON request has the same Response from a whole answer as from a stream: %s',
    async (_name, answer, members) => {
      const request = { ...ASKED, ...members };
      service.upstream.answer(answer);
      const whole = await JSON_TRANSPORT.run(service, request);
      service.upstream.answer(answer);
      const streamed = await SSE_TRANSPORT.run(service, request);
      expect(formsOf(service)).toEqual([false, true]);
      expect(service.upstream.requests[0]?.body).not.toHaveProperty('stream_options');
      const { output_text: _, ...response } = whole.response as { readonly output_text?: unknown };
      expect(comparable(response)).toEqual(comparable(streamed.response));
    },
  );

  it('a JSON request is answered by a server that streams all the same', async () => {
    service.upstream.respond((request) => {
      expect(request.body.stream).toBe(false);
      return streamOf('Hello');
    });
    expect((await JSON_TRANSPORT.run(service, ASKED)).response).toMatchObject({ output_text: 'Hello' });
  });

  it('a JSON request is asked again as a stream if the server only streams, and from then on at once', async () => {
    service.upstream.respond(refusalOf('This model only supports stream mode.'));
    service.upstream.answer({ text: 'One' }).answer({ text: 'Two' });
    const texts = [];
    for (let turn = 0; turn < 2; turn++) texts.push((await JSON_TRANSPORT.run(service, ASKED)).response);
    expect(texts).toMatchObject([{ output_text: 'One' }, { output_text: 'Two' }]);
    expect(formsOf(service)).toEqual([false, true, true]);
  });

  it('a JSON request is refused as the server refuses it for another reason', async () => {
    service.upstream.respond(refusalOf('No such thing.'));
    await expect(JSON_TRANSPORT.run(service, ASKED)).rejects.toMatchObject({ status: 400 });
    expect(formsOf(service)).toEqual([false]);
  });

  it.each([408, 504, 524])(
    'a JSON request is asked again as a stream if a proxy gives up with %d, and the next one at once',
    async (status) => {
      const { upstream } = service;
      upstream.respond(textReply('<html>Too late</html>', 'text/html', { status }));
      upstream.answer({ text: 'One' }).answer({ text: 'Two' });
      const texts = [];
      for (let turn = 0; turn < 2; turn++) texts.push((await JSON_TRANSPORT.run(service, ASKED)).response);
      expect(texts).toMatchObject([{ output_text: 'One' }, { output_text: 'Two' }]);
      expect(formsOf(service)).toEqual([false, true, true]);
    },
  );

  it.each(['cut', 'reset', 'end'] as const)(
    'a JSON request whose answer breaks off in its middle is asked again: %s',
    async (by) => {
      service.upstream.answer({ text: 'Half' }, { breaks: { after: 1, by } }).answer({ text: 'Whole' });
      expect((await JSON_TRANSPORT.run(service, ASKED)).response).toMatchObject({ output_text: 'Whole' });
      expect(formsOf(service)).toEqual([false, false]);
    },
  );

  it('a turn is asked for as a stream over SSE and in the background', async () => {
    await SSE_TRANSPORT.run(service, ASKED);
    await JSON_TRANSPORT.run(service, { ...ASKED, background: true });
    await service.upstream.received(2);
    expect(formsOf(service)).toEqual([true, true]);
  });
});

describe.each([
  ['never', LIMITED, true],
  ['bounded', ASKED, true],
  ['bounded', LIMITED, false],
  ['always', ASKED, false],
])('a provider whose whole_answers is %s', (setting, request, isStream) => {
  const service = useService(() => startChatService({ provider: { capabilities: { whole_answers: setting } } }));

  it('a provider is asked as its whole_answers says', async () => {
    await JSON_TRANSPORT.run(service, request);
    expect(formsOf(service)).toEqual([isStream]);
  });
});

describe('a whole answer that does not come', () => {
  const clock = new WatchedClock();
  // Before it closes.
  afterAll(() => clock.letGo());
  const service = useFreshService(() =>
    startChatService({
      provider: { retries: 0, timeouts: { whole_ms: 60_000, first_byte_ms: 5000, idle_ms: 5000 } },
      environment: { MODEL_IDLE_TIMEOUT_MS: 20_000 },
      overrides: [[Clock, clock]],
    }),
  );

  it.each(['ignore', 'answerHeadOnly'] as const)(
    'a whole answer that does not come is given up after whole_ms, not before: %s',
    async (how) => {
      const { upstream } = service;
      const before = upstream.requests.length;
      upstream[how]();
      const waiting = clock.whenScheduled(60_000);
      const turn = JSON_TRANSPORT.run(service, LIMITED).catch((error: unknown) => error);
      await waiting;
      const request = await upstream.received(before + 1);
      for (let second = 1; second < 60; second++) clock.advance(1000);
      clock.advance(999);
      expect(request.isClosed).toBe(false);
      clock.advance(1);
      expect(await turn).toMatchObject({ status: 500, body: { error: { code: 'server_error' } } });
      await request.closed;
    },
  );
});

/** A Response without what differs between two turns: ids, and the seconds in which they ran. */
function comparable(response: object): unknown {
  const { created_at: _, completed_at: completedAt, ...others } = response as Readonly<Record<string, unknown>>;
  return withoutIds({ ...others, isCompleted: completedAt !== null });
}

function refusalOf(message: string): ReturnType<typeof textReply> {
  const error = { message, type: 'invalid_request_error', param: null, code: null };
  return textReply(JSON.stringify({ error }), 'application/json', { status: 400 });
}

function streamOf(text: string): ReturnType<typeof streamReply> {
  const chunk = { id: 'c', choices: [{ index: 0, delta: { content: text }, finish_reason: 'stop' }] };
  return streamReply([`data: ${JSON.stringify(chunk)}\n\n`, 'data: [DONE]\n\n']);
}
