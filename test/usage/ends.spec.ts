import { once } from 'node:events';

import { beforeEach, describe, expect, it } from '@jest/globals';

import { Clock, Environment, ModelError, type ModelEvent } from '../../src/index.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import { BackgroundLog } from '../support/background-attempts.js';
import { useFreshService } from '../support/describe-service.js';
import { RawClient } from '../support/raw-client.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { EVERY_STATE, startServiceIn } from '../support/state-backends.js';
import { SteeredLane } from '../support/steered-lane.js';
import { resultsOf } from '../support/usage.js';

const TURN = { model: 'scripted', input: 'Tell me a long story, please.' };
/** One token each. */
const WORDS: readonly ModelEvent[] = Array.from({ length: 200 }, () => ({ type: 'text', delta: ' word' }));

/** A model that writes WORDS, says nothing of usage, and then does as it is told; `written` resolves before. */
function playWords(provider: ScriptedProvider, then?: () => never): { readonly written: Promise<undefined> } {
  const { promise: written, resolve } = Promise.withResolvers<undefined>();
  provider.play(async function* (_, { signal }) {
    yield WORDS;
    resolve(undefined);
    if (then !== undefined) then();
    await once(signal, 'abort').catch(() => undefined);
  });
  return { written };
}

describe('what a model has written, and was asked, is counted', () => {
  const observer = new RecordingObserver();
  const service = useFreshService({ providers: [ScriptedProvider], imports: [observer.asModule()] });
  /** Tokens of the turn if it comes to its end. */
  let whole: { readonly input_tokens: number; readonly output_tokens: number };

  beforeEach(async () => {
    observer.records.length = 0;
    service.provider.isSteerable = true;
    service.provider.reply(...WORDS);
    const { usage } = await service.client().responses.create(TURN);
    whole = { input_tokens: Number(usage?.input_tokens), output_tokens: Number(usage?.output_tokens) };
    expect(whole.output_tokens).toBeGreaterThanOrEqual(WORDS.length);
  });

  /** Begins a turn on a lane; gives its response once the model has written WORDS. */
  async function beginOn(lane: SteeredLane): Promise<string> {
    const { written } = playWords(service.provider);
    lane.create(TURN);
    const { id } = await lane.created();
    await written;
    return id;
  }

  async function expectCounted(status: string): Promise<void> {
    const [, record] = await observer.whenSettled(2);
    expect(record).toMatchObject({ status, usage: whole });
  }

  it('what a model has written, and was asked, is counted when its client interrupts the response', async () => {
    await using socket = await SocketClient.open(service);
    const lane = new SteeredLane(socket);
    lane.interrupt(await beginOn(lane));
    expect(await lane.end()).toMatchObject({ usage: whole, output: [] });
    await expectCounted('incomplete');
  });

  it('what a model has written, and was asked, is counted when its client steers the response', async () => {
    await using socket = await SocketClient.open(service);
    const lane = new SteeredLane(socket);
    lane.steer(await beginOn(lane));
    expect(await lane.end()).toMatchObject({ usage: whole });
    await expectCounted('incomplete');
  });

  it('what a model has written, and was asked, is counted when its client leaves the stream', async () => {
    const { written } = playWords(service.provider);
    const client = new RawClient(service.port);
    const answer = await client.stream(TURN);
    await written;
    answer.vanish();
    await expectCounted('disconnected');
    client.close();
  });

  it('what a model has written, and was asked, is counted when its client leaves at the last word, while the tokens are counted', async () => {
    const counting = Promise.withResolvers<undefined>();
    service.provider.countOutputTokens = async (_output, options) => {
      counting.resolve(undefined);
      await once(options?.signal as AbortSignal, 'abort');
      throw new Error('nobody waits');
    };
    service.provider.reply(...WORDS);
    const socket = await SocketClient.open(service);
    socket.create(TURN);
    await counting.promise;
    await socket.close();
    await expectCounted('disconnected');
  });

  it('what a model has written, and was asked, is counted when its client closes the socket', async () => {
    const { written } = playWords(service.provider);
    const socket = await SocketClient.open(service);
    socket.create(TURN);
    await written;
    await socket.close();
    await expectCounted('disconnected');
  });

  it('what a model has written, and was asked, is counted when the model fails', async () => {
    playWords(service.provider, () => {
      throw new ModelError('server_error', 'The model broke.');
    });
    expect(await service.client().responses.create(TURN)).toMatchObject({ status: 'failed', usage: whole });
    await expectCounted('failed');
  });

  it('what a model has written, and was asked, is counted when the service shuts down', async () => {
    const { written } = playWords(service.provider);
    await using socket = await SocketClient.open(service);
    socket.create(TURN);
    await written;
    await service.close();
    await expectCounted('failed');
  });

  it('what a model has written, and was asked, is counted when the process of a background turn dies, and the next one asks again', async () => {
    service.provider.reply(...WORDS);
    const request = { model: 'scripted', input: TURN.input };
    const log = (await BackgroundLog.queue(service, request).run()).upTo('response.output_text.delta', WORDS.length);
    service.provider.reply(...WORDS);
    const { response } = await log.run();
    expect(response.usage).toMatchObject({
      input_tokens: 2 * whole.input_tokens,
      output_tokens: 2 * whole.output_tokens,
    });
  });
});

it('what a model has written, and was asked, is counted when it falls silent', async () => {
  const clock = new FakeClock();
  await using service = await startService({ providers: [ScriptedProvider], overrides: [[Clock, clock]] });
  const provider = service.app.get(ScriptedProvider);
  provider.reply(...WORDS);
  const { usage } = await service.client().responses.create(TURN);
  const { written } = playWords(provider);
  const failing = service.client({ maxRetries: 0 }).responses.create(TURN);
  await written;
  clock.advance(service.app.get(Environment).MODEL_IDLE_TIMEOUT_MS);
  expect(await failing).toMatchObject({ status: 'failed', usage });
});

describe.each(EVERY_STATE)(
  'what the model of a background turn has written is counted with STATE=$state',
  ({ open }) => {
    const service = useFreshService(() => startServiceIn(open, { providers: [ScriptedProvider] }));

    it.each(['cancel', 'delete'] as const)(
      'what the model of a background turn has written is counted on %s',
      async (end) => {
        service.provider.reply(...WORDS);
        const { usage } = await service.client().responses.create(TURN);
        const { written } = playWords(service.provider);
        const stream = await service.client().responses.create({ ...TURN, background: true, stream: true });
        let id = '';
        let deltas = 0;
        for await (const event of stream) {
          if (event.type === 'response.created') ({ id } = event.response);
          if (event.type === 'response.output_text.delta') deltas += 1;
          // All of them are in the log.
          if (deltas === WORDS.length) break;
        }
        await written;
        await service.client().responses[end](id);
        expect(await resultsOf(service, 2)).toMatchObject([
          { input_tokens: 2 * Number(usage?.input_tokens), output_tokens: 2 * Number(usage?.output_tokens) },
        ]);
      },
    );
  },
);
