import { beforeAll, describe, expect, it } from '@jest/globals';

import { Clock, ModelError, ModelProvider, type ModelEvent } from '../../src/index.js';
import { RunningClock } from '../../src/testing/contract/contract-service.js';
import { checkEventOrder, ScriptedProvider } from '../../src/testing/index.js';
import { startChatService } from '../support/chat-upstream/start-chat-service.js';
import { createInBackground, framesOf, IN_BACKGROUND, replay, whenEnded } from '../support/background.js';
import { useService } from '../support/describe-service.js';
import { RawClient } from '../support/raw-client.js';
import { PausingClock } from '../support/clocks.js';
import { startServiceIn, STATES } from '../support/state-backends.js';
import { REFUSED } from './refusals.js';

const MAX_OUTPUT_CHARACTERS = 1000;
const IDLE_MS = 100;
/** Longer than the beginning of a turn takes. */
const LIMIT_MS = 60_000;

const START: ModelEvent = { type: 'text', delta: 'Half' };

/** What a model does, and the code that its response fails with. */
const FAILURES: readonly (readonly [what: string, fail: (signal: AbortSignal) => Promise<ModelEvent>, code: string])[] =
  [
    ['refuses', () => Promise.reject(new ModelError('content_policy', 'No.', { status: 400 })), 'content_policy'],
    ['throws something else', () => Promise.reject(new TypeError('secret')), 'server_error'],
    ['writes too much', async () => ({ type: 'text', delta: 'x'.repeat(MAX_OUTPUT_CHARACTERS) }), 'server_error'],
    ['is silent', () => new Promise(() => undefined), 'server_error'],
  ];

describe.each(STATES)('the model of a background turn in $state', ({ open }) => {
  const service = useService(() =>
    startServiceIn(open, {
      providers: [ScriptedProvider],
      environment: { MAX_OUTPUT_CHARACTERS, MODEL_IDLE_TIMEOUT_MS: IDLE_MS },
    }),
  );

  describe.each([
    ['before its first event', []],
    ['in the middle of a text', [START]],
  ] as const)('%s', (_place, start) => {
    it.each(FAILURES)('%s: the response fails, and its stream ends', async (_what, fail, code) => {
      service.provider.play(async function* (_turn, { signal }) {
        if (start.length > 0) yield start;
        yield await fail(signal);
      });
      const raw = new RawClient(service.port);
      const text = await (await raw.stream({ ...IN_BACKGROUND })).whole;
      raw.close();
      const events = framesOf(text).map((frame) => JSON.parse(frame.slice(frame.indexOf('{'))) as object);
      checkEventOrder(events, { transport: 'sse' });
      const id = /resp_\w+/.exec(text)?.[0] ?? '';
      const { output_text: _, ...stored } = (await service.api.get(`responses/${id}`)).body;
      expect(stored).toMatchObject({ status: 'failed', error: { code: expect.any(String) }, completed_at: null });
      expect((stored['error'] as { readonly code: string }).code).toBe(code);
      expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: stored });
      expect(text).not.toContain('secret');
      expect(await replay(service, id)).toBe(text);
      if (start.length > 0) {
        expect((stored['output'] as readonly object[])[0]).toMatchObject({
          status: 'incomplete',
          content: [{ text: expect.stringMatching(/^Half/) }],
        });
      }
    });
  });
});

describe.each(STATES)('MAX_TURN_MS in $state', ({ open }) => {
  it('MAX_TURN_MS ends a background turn', async () => {
    const clock = new RunningClock();
    await using service = await startServiceIn(open, {
      providers: [ScriptedProvider],
      environment: { MAX_TURN_MS: LIMIT_MS },
      overrides: [[Clock, clock]],
    });
    service.app.get(ScriptedProvider).play(async function* () {
      yield START;
      await new Promise(() => undefined);
    });
    const raw = new RawClient(service.port);
    const stream = await raw.stream({ ...IN_BACKGROUND });
    const id = /resp_\w+/.exec(await stream.until('Half'))?.[0] ?? '';
    clock.advance(LIMIT_MS);
    const { error, output_text } = await whenEnded(service, id);
    expect(error).toMatchObject({ code: 'turn_time_limit_exceeded' });
    expect(output_text).toBe('Half');
    await stream.whole;
    raw.close();
    clock.stop();
  });
});

describe('an upstream that cuts the connection each time that it is asked', () => {
  it.each(['cut', 'reset'] as const)(
    'an upstream that cuts the connection each time that it is asked fails the response: %s',
    async (by) => {
      await using service = await startChatService({ overrides: [[Clock, new PausingClock()]] });
      service.upstream.always({ text: ['Half', ' a text'] }, { breaks: { after: 2, by } });
      const { id } = await createInBackground(service, { model: 'tested' });
      const { status, error, output_text } = await whenEnded(service, id);
      expect({ status, output_text: output_text.slice(0, 4) }).toEqual({ status: 'failed', output_text: 'Half' });
      expect(error?.code).toBe('server_error');
    },
  );
});

/** Serves the model `only`, whose window is small. */
@ModelProvider('picky')
class PickyProvider extends ScriptedProvider {
  override find(model: string): ReturnType<ScriptedProvider['find']> {
    return model === 'only' ? { ...super.find(model), contextWindow: 50 } : (undefined as never);
  }

  override async models(): Promise<readonly ReturnType<ScriptedProvider['find']>[]> {
    return [this.find('only')];
  }
}

describe.each(STATES)('a request that cannot run in $state', ({ open }) => {
  const service = useService(() =>
    startServiceIn(open, { providers: [PickyProvider], environment: { UNKNOWN_PARAMETERS: 'reject' } }),
  );
  let provider: PickyProvider;
  beforeAll(() => {
    provider = service.app.get(PickyProvider);
  });

  const tooLong = { status: 400, code: 'context_length_exceeded' };
  it.each([
    ...REFUSED.map(([what, body, { status, code }]) => [what, body, { status, code }] as const),
    ['a context that is too long', { model: 'only', input: 'word '.repeat(100) }, tooLong] as const,
  ])(
    'a background request that cannot run is refused at once, and not stored: %s',
    async (_what, body, { status, code }) => {
      for (const stream of [false, true]) {
        const answer = await service.api.post('responses', { ...body, background: true, stream });
        expect(answer).toMatchObject({ status, body: { error: { code } } });
      }
      expect(await service.api.idsOf('responses')).toEqual([]);
      expect(provider.turns).toEqual([]);
    },
  );
});
