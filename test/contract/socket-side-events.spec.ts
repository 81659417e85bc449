import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock, ModelError, type ModelEvent } from '../../src/index.js';
import { ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { isEnd, SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { WatchedClock } from '../support/clocks.js';

/** A length that no other timer has. */
const KEEPALIVE_MS = 7777;

const text: ModelEvent = { type: 'text', delta: 'Hi' };
const headers = { 'x-codex-turn-state': 'abc' };
const metadata: ModelEvent = { type: 'metadata', headers };
const finish: ModelEvent = { type: 'finish', reason: 'stop' };

describe('what a socket tells besides the events of a response', () => {
  const clock = new WatchedClock();
  // Before it closes.
  afterAll(() => clock.letGo());
  const service = useService({
    providers: [ScriptedProvider],
    environment: { WS_KEEPALIVE_MS: KEEPALIVE_MS },
    overrides: [[Clock, clock]],
  });
  let client: SocketClient;

  beforeEach(async () => {
    client = await SocketClient.open(service);
  });

  afterEach(() => client[Symbol.asyncDispose]());

  const turn = async (stream_id?: string): Promise<readonly WireEvent[]> => {
    client.create({ input: 'Hi', ...(stream_id === undefined ? {} : { stream_id }) });
    const frames: WireEvent[] = [];
    do frames.push(await client.next());
    while (!frames.some(isEnd));
    return frames;
  };

  describe('the headers of a provider', () => {
    it.each<[when: string, model: readonly (readonly ModelEvent[])[], before: string]>([
      ['first', [[metadata], [text], [finish]], 'response.created'],
      ['in the middle', [[text], [metadata], [text], [finish]], 'response.completed'],
      ['with the last word', [[text], [text, metadata, finish]], 'response.completed'],
      ['all at once', [[metadata, text, finish]], 'response.created'],
      ['without a word', [[metadata, finish]], 'response.created'],
      [
        'with an answer that is cut off',
        [[text], [metadata, { type: 'finish', reason: 'length' }]],
        'response.incomplete',
      ],
    ])(
      'the headers of a provider come in a frame of their own before what is said later: %s',
      async (_, batches, before) => {
        service.provider.play(async function* () {
          yield* batches;
        });
        const frames = await turn('a');
        const types = frames.map(({ type }) => type);
        expect(types.filter((type) => type === 'response.metadata')).toHaveLength(1);
        expect(types.indexOf('response.metadata')).toBeLessThan(types.indexOf(before));
        expect(types.at(-1)).toMatch(/^response\.(completed|incomplete)$/);
        expect(frames[types.indexOf('response.metadata')]).toEqual({
          type: 'response.metadata',
          headers,
          stream_id: 'a',
        });
      },
    );

    it('the headers of a provider come before the terminal event of a response that failed', async () => {
      service.provider.play(async function* () {
        yield [text];
        yield [metadata];
        throw new ModelError('server_error', 'It broke.');
      });
      const types = (await turn()).map(({ type }) => type);
      expect(types).toContain('response.metadata');
      expect(types.at(-1)).toBe('response.failed');
    });

    it('the headers of a provider come again where Codex reads them, in events of their own', async () => {
      const etag = { 'x-models-etag': 'W/"1"' };
      const limits = {
        'x-codex-secondary-used-percent': '7',
        'x-codex-credits-has-credits': 'True',
        'x-gpt-x-primary-used-percent': '1.5',
      };
      service.provider.reply(
        { type: 'metadata', headers: { ...etag, ...limits, 'x-ratelimit-limit-tokens': '9' } },
        text,
      );
      const frames = (await turn('a')).slice(0, 4);
      const window = { window_minutes: null, reset_at: null };
      const credits = { has_credits: true, unlimited: false, balance: null };
      expect(frames).toEqual([
        { type: 'response.metadata', headers: { ...etag, ...limits, 'x-ratelimit-limit-tokens': '9' }, stream_id: 'a' },
        { type: 'codex.response.metadata', headers: etag, stream_id: 'a' },
        {
          type: 'codex.rate_limits',
          rate_limits: { primary: null, secondary: { used_percent: 7, ...window } },
          credits,
          stream_id: 'a',
        },
        {
          type: 'codex.rate_limits',
          rate_limits: { primary: { used_percent: 1.5, ...window }, secondary: null },
          credits: null,
          metered_limit_name: 'gpt-x',
          stream_id: 'a',
        },
      ]);
    });

    it('the headers of a provider on a socket are only those that are safe to hand on', async () => {
      const unsafe = { 'openai-model': 'other', 'set-cookie': 'a=b', 'x-line': 'a\r\nb', 'X-Codex-Turn-State': 'abc' };
      service.provider.reply({ type: 'metadata', headers: unsafe }, text);
      const frames = await turn();
      expect(frames.filter(({ type }) => type === 'response.metadata')).toEqual([
        { type: 'response.metadata', headers },
      ]);
    });

    it('a socket has no frame for the headers of a provider where there are none', async () => {
      service.provider.reply({ type: 'metadata', headers: {} }, { type: 'metadata', upstreamId: 'up_1' }, text);
      expect((await turn()).map(({ type }) => type)).not.toContain('response.metadata');
    });

    it('the headers of a provider belong to their own turn', async () => {
      service.provider.reply(metadata, text).reply(text);
      await turn('a');
      expect((await turn('a')).map(({ type }) => type)).not.toContain('response.metadata');
    });
  });

  describe('a keepalive', () => {
    it.each([undefined, 'a'])(
      'a keepalive comes while a model is silent, again and again (lane %s)',
      async (stream_id) => {
        const held = new HeldTurns(service.provider).hold();
        client.create({ input: 'Wait.', ...(stream_id === undefined ? {} : { stream_id }) });
        while ((await client.nextOf(stream_id)).type !== 'response.output_text.delta');
        const keepalive = { type: 'keepalive', ...(stream_id === undefined ? {} : { stream_id }) };
        clock.advance(KEEPALIVE_MS - 1);
        await client.roundTrip();
        expect(client.unread).toHaveLength(0);
        for (let silence = 0; silence < 3; silence += 1) {
          clock.advance(silence === 0 ? 1 : KEEPALIVE_MS);
          expect(await client.next()).toEqual(keepalive);
        }
        expect(client.unread).toHaveLength(0);
        held.letGo('Wait.');
        expect(await client.nextEnd(stream_id)).toMatchObject({ type: 'response.completed' });
      },
    );

    it('a keepalive comes before the first word of a model too', async () => {
      const held = Promise.withResolvers<undefined>();
      service.provider.play(async function* () {
        await held.promise;
        yield [text, finish];
      });
      const scheduled = clock.whenScheduled(KEEPALIVE_MS);
      client.create({ stream_id: 'a', input: 'Hi' });
      await scheduled;
      clock.advance(KEEPALIVE_MS);
      const frames = [await client.next()];
      while (frames.at(-1)?.type !== 'keepalive') frames.push(await client.next());
      expect(frames.at(-1)).toEqual({ type: 'keepalive', stream_id: 'a' });
      held.resolve(undefined);
      expect(await client.nextEnd('a')).toMatchObject({ type: 'response.completed' });
    });

    it('a keepalive does not come while a model speaks, nor without a turn', async () => {
      const pieces = Array.from({ length: 4 }, () => Promise.withResolvers<undefined>());
      service.provider.play(async function* () {
        for (const { promise } of pieces) {
          yield [text];
          await promise;
        }
        yield [finish];
      });
      clock.advance(KEEPALIVE_MS * 3);
      client.create({ input: 'Hi' });
      const types: string[] = [];
      for (const { resolve } of pieces) {
        for (;;) {
          types.push((await client.next()).type);
          if (types.at(-1) === 'response.output_text.delta') break;
        }
        clock.advance(KEEPALIVE_MS - 1);
        resolve(undefined);
      }
      do types.push((await client.next()).type);
      while (types.at(-1) !== 'response.completed');
      expect(types).not.toContain('keepalive');
      clock.advance(KEEPALIVE_MS * 3);
      await client.roundTrip();
      expect(client.unread).toHaveLength(0);
    });

    it('a keepalive does not come for a turn that waits in its lane', async () => {
      const held = new HeldTurns(service.provider).hold(2);
      client.create({ stream_id: 'a', input: 'one' });
      client.create({ stream_id: 'a', input: 'two' });
      while ((await client.next()).type !== 'response.output_text.delta');
      await client.roundTrip();
      clock.advance(KEEPALIVE_MS);
      expect(await client.next()).toEqual({ type: 'keepalive', stream_id: 'a' });
      await client.roundTrip();
      expect(client.unread).toHaveLength(0);
      held.letGo('one');
      held.letGo('two');
    });
  });

  it.each<[what: string, model: readonly ModelEvent[]]>([
    ['a text', [text]],
    ['headers after the end', [text, finish, metadata, text]],
    ['a cut-off', [text, { type: 'finish', reason: 'length' }, metadata]],
    ['a refusal', [{ type: 'refusal', delta: 'No.' }]],
  ])('a socket says nothing after the terminal event: %s', async (_, model) => {
    service.provider.reply(...model);
    expect(isEnd((await turn()).at(-1) as WireEvent)).toBe(true);
    clock.advance(KEEPALIVE_MS * 2);
    for (let trip = 0; trip < 3; trip += 1) await client.roundTrip();
    expect(client.unread).toHaveLength(0);
  });
});
