import { beforeEach, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';

import { Clock } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { createInBackground, IN_BACKGROUND, pollUntil, whenEnded, whenRunning } from '../support/background.js';
import { useService } from '../support/describe-service.js';
import { RawClient } from '../support/raw-client.js';
import { ShiftedClock } from '../support/clocks.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { textOrCode, transcript } from '../support/output.js';
import { EVERY_STATE, startServiceIn } from '../support/state-backends.js';
import { TRANSPORTS } from '../support/transports.js';

const TEN_MINUTES_MS = 600_000;

describe.each(EVERY_STATE)('a background response in $state', ({ open }) => {
  const clock = new ShiftedClock();
  let held: HeldTurns;
  const service = useService(() =>
    startServiceIn(open, { providers: [ScriptedProvider], overrides: [[Clock, clock]] }),
  );
  beforeEach(() => {
    held = new HeldTurns(service.provider);
  });

  it('a background response is answered at once, and queued', async () => {
    held.hold();
    const queued = await createInBackground(service, { metadata: { a: 'b' } });
    expect(queued).toMatchObject({
      object: 'response',
      status: 'queued',
      background: true,
      output: [],
      output_text: '',
      usage: null,
      error: null,
      incomplete_details: null,
      completed_at: null,
      metadata: { a: 'b' },
    });
    const running = await whenRunning(service, queued.id);
    expect(running).toEqual({ ...queued, status: 'in_progress' });
    held.letGo('Hi');
    const { status, completed_at, output_text, created_at } = await whenEnded(service, queued.id);
    expect({ status, output_text, created_at }).toEqual({
      status: 'completed',
      output_text: 're Hi',
      created_at: queued.created_at,
    });
    expect(completed_at).toBeGreaterThanOrEqual(created_at);
  });

  it('a background response is polled as the SDK shows it', async () => {
    held.hold().letGo('Hi');
    const client = service.client();
    let response = await client.responses.create({ ...IN_BACKGROUND });
    while (response.status === 'queued' || response.status === 'in_progress') {
      response = await client.responses.retrieve(response.id);
    }
    expect(response).toMatchObject({ status: 'completed', output_text: 're Hi' });
  });

  it('a background response shows the items that are finished while it runs', async () => {
    const goOn = Promise.withResolvers<undefined>();
    service.provider.play(async function* () {
      yield [
        { type: 'text', delta: 'Whole.', key: 'a' },
        { type: 'end', key: 'a' },
        { type: 'function_call', name: 'look', callId: 'call_1', key: 'b' },
        { type: 'function_call_arguments', delta: '{"half":', key: 'b' },
      ];
      await goOn.promise;
      yield [
        { type: 'function_call_arguments', delta: '1}', key: 'b' },
        { type: 'finish', reason: 'stop' },
      ];
    });
    const { id } = await createInBackground(service);
    const partial = await pollUntil(service, id, ({ output }) => output.length > 0);
    expect(partial).toMatchObject({ status: 'in_progress', output_text: 'Whole.', usage: null, completed_at: null });
    expect(partial.output).toMatchObject([{ type: 'message', status: 'completed' }]);
    goOn.resolve(undefined);
    const whole = await whenEnded(service, id);
    expect(whole.output).toEqual([
      partial.output[0],
      expect.objectContaining({ type: 'function_call', arguments: '{"half":1}', status: 'completed' }),
    ]);
  });

  it.each([
    ['length', 'incomplete', { reason: 'max_output_tokens' }],
    ['content_filter', 'incomplete', { reason: 'content_filter' }],
  ] as const)(
    'a background response ends with the reason of its model: %s',
    async (reason, status, incomplete_details) => {
      service.provider.reply({ type: 'text', delta: 'Some' }, { type: 'finish', reason });
      const { id } = await createInBackground(service);
      expect(await whenEnded(service, id)).toMatchObject({ status, incomplete_details, output_text: 'Some' });
    },
  );

  it('a background response goes on when the creator of its stream leaves', async () => {
    held.hold();
    const raw = new RawClient(service.port);
    const stream = await raw.stream({ ...IN_BACKGROUND });
    const text = await stream.until('response.output_text.delta');
    stream.vanish();
    raw.close();
    const id = /resp_\w+/.exec(text)?.[0] ?? '';
    expect(await service.client().responses.retrieve(id)).toMatchObject({ status: 'in_progress' });
    held.letGo('Hi');
    expect(await whenEnded(service, id)).toMatchObject({ status: 'completed', output_text: 're Hi' });
  });

  describe('with store: false', () => {
    it('a background response with store: false is kept ten minutes after its end, and cannot be continued', async () => {
      held.hold();
      const { id } = await createInBackground(service, { store: false });
      await held.whenBegun(1);
      // Not after its beginning.
      clock.skip(2 * TEN_MINUTES_MS);
      expect(await whenRunning(service, id)).toMatchObject({ store: false });
      held.letGo('Hi');
      expect(await whenEnded(service, id)).toMatchObject({ status: 'completed', store: false });
      await expect(createInBackground(service, { previous_response_id: id })).rejects.toMatchObject({
        status: 400,
        code: 'previous_response_not_found',
        param: 'previous_response_id',
      });
      clock.skip(TEN_MINUTES_MS - 60_000);
      expect(await service.client().responses.retrieve(id)).toMatchObject({ id });
      clock.skip(60_000);
      await expect(service.client().responses.retrieve(id)).rejects.toThrow(OpenAI.NotFoundError);
    });
  });

  it('a background response stays for x-response-ttl after its end', async () => {
    held.hold();
    const { id } = await createInBackground(service, {}, { headers: { 'x-response-ttl': '60' } });
    await held.whenBegun(1);
    clock.skip(3_600_000);
    held.letGo('Hi');
    await whenEnded(service, id);
    clock.skip(50_000);
    expect(await service.client().responses.retrieve(id)).toMatchObject({ id });
    clock.skip(10_000);
    await expect(service.client().responses.retrieve(id)).rejects.toThrow(OpenAI.NotFoundError);
  });

  describe('as a parent', () => {
    it.each(TRANSPORTS)('a background response can be continued over $name', async (transport) => {
      const { id } = await createInBackground(service, { input: 'One?' });
      await whenEnded(service, id);
      expect(await textOrCode(transport, service, { model: 'scripted', input: 'Two?', previous_response_id: id })).toBe(
        'ok',
      );
      expect(transcript(service.provider.turns.at(-1)?.context ?? [])).toEqual([
        'user: One?',
        'assistant: ok',
        'user: Two?',
      ]);
    });

    it('a background response can be continued in the background, in turn', async () => {
      let previous_response_id: string | null = null;
      for (const input of ['One?', 'Two?', 'Three?']) {
        const { id } = await createInBackground(service, { input, previous_response_id });
        const ended = await whenEnded(service, id);
        expect(ended).toMatchObject({ status: 'completed', previous_response_id });
        previous_response_id = id;
      }
      const said = ['user: One?', 'assistant: ok', 'user: Two?', 'assistant: ok', 'user: Three?'];
      expect(transcript(service.provider.turns.at(-1)?.context ?? [])).toEqual(said);
    });

    const unusable: readonly (readonly [status: string, reason: RegExp, make: () => Promise<string>])[] = [
      [
        'in_progress',
        /has not finished yet/,
        async () => {
          held.hold();
          const { id } = await createInBackground(service);
          await whenRunning(service, id);
          return id;
        },
      ],
      [
        'failed',
        /has failed/,
        async () => {
          held.hold().fail('Hi', new Error('broken'));
          const { id } = await createInBackground(service);
          await whenEnded(service, id);
          return id;
        },
      ],
      [
        'cancelled',
        /was cancelled/,
        async () => {
          held.hold();
          const { id } = await createInBackground(service);
          // What it would answer is not left to the next test.
          await held.whenBegun(1);
          await service.client().responses.cancel(id);
          return id;
        },
      ],
    ];
    it.each(unusable)(
      'a turn that continues a background response is refused while, or because, that is %s',
      async (status, reason, make) => {
        const id = await make();
        expect(await service.client().responses.retrieve(id)).toMatchObject({ status });
        const refusal = { code: 'previous_response_not_found', param: 'previous_response_id' };
        const message = expect.stringMatching(reason);
        for (const background of [true, false]) {
          const answer = await service.api.post('responses', {
            ...IN_BACKGROUND,
            background,
            previous_response_id: id,
          });
          expect(answer).toMatchObject({ status: 400, body: { error: { ...refusal, message } } });
        }
        await using socket = await SocketClient.open(service);
        const frame = await socket.refusal({ input: 'Hi', previous_response_id: id });
        expect(frame).toMatchObject({ status: 400, error: { ...refusal, message } });
        held.letAllGo();
      },
    );
  });
});
