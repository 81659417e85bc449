import { describe, expect, it, jest } from '@jest/globals';

import { ScriptedProvider, type Script } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { Refusal, type TurnResult } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';
import { ENDLESS, FALSE_STARTS, NONSENSE, SILENT_ENDS, startsWellThen, yieldsThen } from './misbehaviours.js';

const SERVER_ERROR = /^The server had an error while processing your request\. .* report request req_[0-9a-f]{32}\.$/;
const MOST_CHARACTERS = 1000;

describe.each(TRANSPORTS)('a misbehaving provider, over $name', (transport) => {
  const observer = new RecordingObserver();
  const service = useService({
    providers: [ScriptedProvider],
    imports: [observer.asModule()],
    environment: { MAX_OUTPUT_CHARACTERS: MOST_CHARACTERS },
  });
  let turns = 0;

  /** What an internal cause is called before a response has begun. */
  const internal = transport.name === 'ws' ? 'processing_error' : 'server_error';

  const run = async (script: Script): Promise<TurnResult> => {
    service.provider.play(script);
    turns += 1;
    return transport.run(service, { model: 'scripted', input: 'Go on.' });
  };

  /** The turn ends as `status`, once for the client and once for the observers, and is stored as it was sent. */
  const expectEnd = async (
    script: Script,
    status: string,
    errorCode: string | null,
  ): Promise<TurnResult['response']> => {
    const { response } = await run(script);
    expect(response.status).toBe(status);
    const records = await observer.whenSettled(turns);
    expect(records).toHaveLength(turns);
    expect(records.at(-1)).toMatchObject({ responseId: response.id, status, errorCode });
    const stored = await fetch(`${service.baseURL}/responses/${response.id}`);
    expect(await stored.json()).toMatchObject({ id: response.id, status, output: response['output'] });
    return response;
  };

  const expectFailure = async (script: Script): Promise<void> => {
    const response = await expectEnd(script, 'failed', 'server_error');
    expect(response['error']).toMatchObject({ code: 'server_error', message: expect.stringMatching(SERVER_ERROR) });
  };

  it.each(NONSENSE)('a provider fails the turn when it yields %s', async (_, batch) => {
    await expectFailure(startsWellThen(batch));
  });

  it.each(FALSE_STARTS.filter((start) => !SILENT_ENDS.includes(start)))(
    'the service answers 500 and no secrets when the provider %s',
    async (_, generate) => {
      const refusal = await run(generate as Script).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(Refusal);
      expect(refusal).toMatchObject({
        status: 500,
        body: {
          error: {
            type: 'server_error',
            code: internal,
            param: null,
            message: expect.stringMatching(SERVER_ERROR),
          },
        },
      });
      const records = await observer.whenSettled(turns);
      expect(records).toHaveLength(turns);
      expect(records.at(-1)).toMatchObject({ status: 'refused', errorCode: 'server_error', provider: 'scripted' });
    },
  );

  it.each(SILENT_ENDS)('the turn is refused when the provider %s', async (_, generate) => {
    const refusal = await run(generate as Script).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ status: 500, body: { error: { code: internal } } });
  });

  it('a misbehaving provider fails the turn when it throws after the first yield', async () => {
    await expectFailure(() =>
      yieldsThen([{ type: 'text', delta: 'before' }], () => {
        throw new Error('secret of the provider');
      }),
    );
  });

  it('a misbehaving provider fails the turn when it ends without finish', async () => {
    const script: Script = () => yieldsThen([{ type: 'text', delta: 'before' }]);
    const response = await expectEnd(script, 'failed', 'server_error');
    expect(response['error']).toMatchObject({
      message: 'The model ended its answer early. Please retry your request.',
    });
  });

  it('the service reads nothing after finish', async () => {
    const finish = { type: 'finish', reason: 'stop' };
    let pulled = false;
    const script: Script = () =>
      yieldsThen(
        [{ type: 'text', delta: 'all' }, [finish, { type: 'text', delta: 'more' }, null]],
        () => (pulled = true),
      );
    const response = await expectEnd(script, 'completed', null);
    expect(response['output']).toMatchObject([{ content: [{ text: 'all' }] }]);
    expect(pulled).toBe(false);
  });

  it.each(ENDLESS)('the service stops reading endless %s', async (_, batch) => {
    let rounds = 0;
    await expectFailure(async function* () {
      yield { type: 'text', delta: 'before' };
      // Far beyond the limit, but with an end: a service without the limit must not hang the test.
      for (; rounds < 400; rounds += 1) yield batch(rounds) as never;
      yield { type: 'finish', reason: 'stop' };
    });
    expect(rounds).toBeLessThan(400);
  });

  it('the service drops events beyond the protocol that exceed the output limit, and goes on', async () => {
    const odd = { type: 'event', event: { type: 'codex.odd', by: 'x'.repeat(MOST_CHARACTERS / 4) } } as const;
    const response = await expectEnd(
      async function* () {
        yield [odd, odd, odd, odd, odd];
        yield [
          { type: 'text', delta: 'all' },
          { type: 'finish', reason: 'stop' },
        ];
      },
      'completed',
      null,
    );
    expect(response['output']).toMatchObject([{ content: [{ text: 'all' }] }]);
    expect(observer.records.at(-1)?.droppedEvents).toBeGreaterThan(0);
  });

  it.each([
    ['throws', (): never => fail()],
    ['rejects', () => Promise.reject(new Error('secret'))],
    ['is not a number', () => Promise.resolve(NaN)],
    ['is negative', () => Promise.resolve(-1)],
    ['is a fraction', () => Promise.resolve(1.5)],
    ['is a text', () => Promise.resolve('7' as never)],
  ])(
    'the service counts by itself when the token count of a provider %s: an answer is not lost for a number',
    async (_, count) => {
      const script: Script = () =>
        yieldsThen([
          { type: 'text', delta: 'x' },
          { type: 'finish', reason: 'stop' },
        ]);
      const { usage: honestUsage } = await expectEnd(script, 'completed', null);
      for (const method of ['countTokens', 'countOutputTokens'] as const) {
        const spy = jest.spyOn(service.provider, method).mockImplementation(count);
        const response = await expectEnd(script, 'completed', null).finally(() => spy.mockRestore());
        expect(response['usage']).toEqual(honestUsage);
      }
    },
  );

  it('the observers were told of every turn once', () => {
    const ids = observer.records.map(({ responseId }) => responseId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(turns);
  });
});

function fail(): never {
  throw new Error('secret');
}
