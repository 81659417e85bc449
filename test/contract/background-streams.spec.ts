import { describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';

import { Clock, type ModelEvent } from '../../src/index.js';
import { checkEventOrder, ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { createInBackground, framesOf, IN_BACKGROUND, replay, restAfter, whenEnded } from '../support/background.js';
import { useService } from '../support/describe-service.js';
import { RawClient } from '../support/raw-client.js';
import { ShiftedClock } from '../support/clocks.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

const EVENT_LOG_TTL = 60;

/** One of each: reasoning, text and a call, in several pieces. */
const PIECES: readonly (readonly ModelEvent[])[] = [
  [{ type: 'reasoning_summary', delta: 'In short.' }],
  [
    { type: 'reasoning', delta: 'Hm. ' },
    { type: 'reasoning', delta: 'Well.' },
  ],
  [
    { type: 'text', delta: 'Grüße 👋, ' },
    { type: 'text', delta: 'Welt' },
  ],
  [{ type: 'text', delta: ' \u2028.' }],
  [
    { type: 'function_call', name: 'look', callId: 'call_1' },
    { type: 'function_call_arguments', delta: '{"at":' },
  ],
  [{ type: 'function_call_arguments', delta: '"it"}' }],
  [{ type: 'usage', input: 3, output: 9 }],
];

/** A gate before each piece. */
class Gates {
  private readonly gates = PIECES.map(() => Promise.withResolvers<undefined>());

  async *say(): AsyncGenerator<readonly ModelEvent[]> {
    for (const [index, piece] of PIECES.entries()) {
      await this.gates[index]?.promise;
      yield piece;
    }
    yield [{ type: 'finish', reason: 'stop' }];
  }

  open(index: number): void {
    this.gates[index]?.resolve(undefined);
  }
}

function eventsOf(stream: string): readonly WireEvent[] {
  return framesOf(stream).map((frame) => JSON.parse(/^data: ([^\n]*)/m.exec(frame)?.[1] ?? '') as WireEvent);
}

describe.each(STATES)('the stream of a background response in $state', ({ open }) => {
  const clock = new ShiftedClock();
  const service = useService(() =>
    startServiceIn(open, {
      providers: [ScriptedProvider],
      environment: { EVENT_LOG_TTL },
      overrides: [[Clock, clock]],
    }),
  );

  /** Creates a response and reads its stream to the end. */
  const createAndRead = async (members: object = {}): Promise<{ id: string; text: string }> => {
    service.provider.reply(...PIECES.flat());
    const raw = new RawClient(service.port);
    const stream = await raw.stream({ ...IN_BACKGROUND, ...members });
    const text = await stream.whole;
    raw.close();
    return { id: /resp_\w+/.exec(text)?.[0] ?? '', text };
  };

  it('the stream of a background response has the form of the protocol, with response.queued', async () => {
    const { id, text } = await createAndRead();
    const events = eventsOf(text);
    checkEventOrder(events, { transport: 'sse' });
    expect(events.slice(0, 3).map(({ type, response }) => [type, (response as WireEvent)['status']])).toEqual([
      ['response.created', 'queued'],
      ['response.queued', 'queued'],
      ['response.in_progress', 'in_progress'],
    ]);
    expect(text).toBe(restAfter(framesOf(text), -1));
    const { output_text: _, ...stored } = (await service.api.get(`responses/${id}`)).body;
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: stored });
  });

  it('the stream of a background response is the same for every reader, from every number, after its end', async () => {
    const { id, text } = await createAndRead();
    const frames = framesOf(text);
    expect(frames.length).toBeGreaterThan(20);
    expect(await replay(service, id)).toBe(text);
    for (const after of frames.keys()) {
      expect(await replay(service, id, `&starting_after=${after}`)).toBe(restAfter(frames, after));
    }
  });

  it('a stored response is streamed to a client that asks in a JSON body, as openai-go does', async () => {
    const { id, text } = await createAndRead();
    const frames = framesOf(text);
    const client = new RawClient(service.port);
    const ask = (body: string, query = '', headers: Record<string, string> = {}): ReturnType<RawClient['send']> =>
      client.send({
        path: `/v1/responses/${id}${query}`,
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
    expect((await ask('{"stream":true}')).text).toBe(text);
    expect((await ask('{"stream":true,"starting_after":3}')).text).toBe(restAfter(frames, 3));
    expect((await ask('{"stream":true}', '?starting_after=5')).text).toBe(restAfter(frames, 5));
    expect(JSON.parse((await ask('{"stream":true}', '?stream=false')).text)).toMatchObject({ id, status: 'completed' });
    // What says that it is no JSON is no parameter.
    expect(JSON.parse((await ask('stream', '', { 'content-type': 'text/plain' })).text)).toMatchObject({ id });
    const refusals = await Promise.all([
      ask('{"stream":'),
      ask('[]'),
      ask('{"stream":"yes"}'),
      ask('{"starting_after":-1}'),
      ask(JSON.stringify({ pad: ' '.repeat(1024 * 1024) })),
      ask('{}', '', { 'content-encoding': 'gzip' }),
    ]);
    const errors = refusals.map(({ status, text: body }) => [status, (JSON.parse(body) as WireEvent)['error']]);
    expect(errors).toMatchObject([
      [400, { code: 'invalid_json' }],
      [400, { code: 'invalid_type' }],
      [400, { code: 'invalid_type', param: 'stream' }],
      [400, { code: 'integer_below_min_value', param: 'starting_after' }],
      [413, { code: 'request_too_large' }],
      [415, { code: 'unsupported_content_encoding' }],
    ]);
    client.close();
  });

  it('the stream of a background response is the same for every reader, from every number, while it runs', async () => {
    const gates = new Gates();
    service.provider.play(() => gates.say());
    const raw = new RawClient(service.port);
    const creator = await raw.stream({ ...IN_BACKGROUND });
    let seen = await creator.until('response.in_progress');
    const id = /resp_\w+/.exec(seen)?.[0] ?? '';
    const readers: { readonly after: number; readonly text: Promise<string> }[] = [];
    const join = (after: number): void =>
      void readers.push({ after, text: replay(service, id, `&starting_after=${after}`) });
    const firstDeltas = ['In short.', 'Well.', 'Welt', '\u2028', 'at', 'it', ''];
    for (const [index, delta] of firstDeltas.entries()) {
      for (const after of framesOf(seen).keys()) join(after);
      join(framesOf(seen).length + 2);
      gates.open(index);
      if (delta !== '') seen = await creator.until(delta);
    }
    const text = await creator.whole;
    raw.close();
    const frames = framesOf(text);
    expect(readers.length).toBeGreaterThan(50);
    for (const { after, text: read } of readers) expect(await read).toBe(restAfter(frames, after));
  });

  it('the stream of a background response is not padded for readers who want no obfuscation', async () => {
    const { id, text } = await createAndRead();
    const plain = text.replaceAll(/,"obfuscation":"\w*"/g, '');
    expect(plain).not.toBe(text);
    expect(await replay(service, id, '&include_obfuscation=false')).toBe(plain);
    expect(await replay(service, id, '&include_obfuscation=true')).toBe(text);
    const unpadded = await createAndRead({ stream_options: { include_obfuscation: false } });
    expect(unpadded.text).not.toContain('obfuscation');
    expect(await replay(service, unpadded.id)).toContain('obfuscation');
  });

  it('the stream of a background response begins at once, also when there are no events yet', async () => {
    const gates = new Gates();
    service.provider.play(() => gates.say());
    const raw = new RawClient(service.port);
    const creator = await raw.stream({ ...IN_BACKGROUND });
    const id = /resp_\w+/.exec(await creator.until('response.in_progress'))?.[0] ?? '';
    const reader = await raw.open({ path: `/v1/responses/${id}?stream=true&starting_after=2` });
    expect(reader).toMatchObject({ status: 200, headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
    for (const index of PIECES.keys()) gates.open(index);
    expect(await reader.whole).toBe(restAfter(framesOf(await creator.whole), 2));
    raw.close();
  });

  it('the stream of a background response is empty behind its last event', async () => {
    const { id, text } = await createAndRead();
    for (const after of [framesOf(text).length - 1, framesOf(text).length, 1_000_000]) {
      expect(await replay(service, id, `&starting_after=${after}`)).toBe('data: [DONE]\n\n');
    }
  });

  it('the stream of a background response is resumed as the SDK shows it', async () => {
    const gates = new Gates();
    service.provider.play(() => gates.say());
    const client = service.client();
    const stream = await client.responses.create({ ...IN_BACKGROUND, stream: true });
    gates.open(0);
    let id = '';
    let cursor = -1;
    const types: string[] = [];
    for await (const event of stream) {
      if (event.type === 'response.created') id = event.response.id;
      types.push(event.type);
      cursor = event.sequence_number;
      if (event.type === 'response.reasoning_summary_text.delta') break;
    }
    const rest = await client.responses.retrieve(id, { stream: true, starting_after: cursor });
    for (const index of PIECES.keys()) gates.open(index);
    let last: OpenAI.Responses.ResponseStreamEvent | undefined;
    for await (const event of rest) {
      expect(event.sequence_number).toBe((cursor += 1));
      types.push(event.type);
      last = event;
    }
    expect(last).toMatchObject({ type: 'response.completed', response: { id, status: 'completed' } });
    expect(types).toEqual(eventsOf(await replay(service, id)).map(({ type }) => type));
    const final = await client.responses.stream({ response_id: id }).finalResponse();
    expect(final).toMatchObject({ id, status: 'completed', output_text: 'Grüße 👋, Welt \u2028.' });
  });

  describe('is refused', () => {
    const ask = (id: string, query = ''): ReturnType<typeof service.api.get> =>
      service.api.get(`responses/${id}?stream=true${query}`);

    it.each(['x', '1.5', '-1', '', '1e400', 'null', '0x'])(
      'the stream of a background response is refused for the cursor %j',
      async (cursor) => {
        const { id } = await createAndRead();
        const refusal = { status: 400, body: { error: { param: 'starting_after', type: 'invalid_request_error' } } };
        expect(await ask(id, `&starting_after=${cursor}`)).toMatchObject(refusal);
        // Before the response is looked for.
        expect(await ask('resp_unknown', `&starting_after=${cursor}`)).toMatchObject(refusal);
      },
    );

    it('the stream of a background response is refused for a response that does not exist', async () => {
      expect(await ask('resp_0123456789abcdef0123456789abcdef')).toMatchObject({ status: 404 });
    });

    it('the stream of a background response is refused for a response in the foreground, and for one without a stream', async () => {
      const { id } = await createInBackground(service);
      await whenEnded(service, id);
      const foreground = await service.api.create({});
      for (const one of [id, foreground.id]) {
        expect(await ask(one)).toMatchObject({
          status: 400,
          body: { error: { code: 'invalid_mode', param: 'stream', message: expect.stringContaining('background') } },
        });
      }
    });

    it('the stream of a background response is refused once its events are no longer kept', async () => {
      const { id, text } = await createAndRead();
      clock.skip((EVENT_LOG_TTL - 5) * 1000);
      expect(await replay(service, id)).toBe(text);
      clock.skip(5000);
      expect(await ask(id)).toMatchObject({
        status: 400,
        body: {
          error: { code: 'invalid_mode', param: 'stream', message: expect.stringContaining('no longer stored') },
        },
      });
      expect((await service.api.get(`responses/${id}`)).body).toMatchObject({ status: 'completed' });
    });
  });
});

describe.each(STATES)('EVENT_NAMES=openresponses in $state', ({ open }) => {
  const service = useService(() =>
    startServiceIn(open, { providers: [ScriptedProvider], environment: { EVENT_NAMES: 'openresponses' } }),
  );

  it('EVENT_NAMES=openresponses names the events of a stream again as at first', async () => {
    service.provider.reply(...PIECES.flat());
    const raw = new RawClient(service.port);
    const text = await (await raw.stream({ ...IN_BACKGROUND })).whole;
    raw.close();
    expect(text).toContain('event: response.reasoning.delta\n');
    expect(await replay(service, /resp_\w+/.exec(text)?.[0] ?? '')).toBe(text);
  });
});
