import { afterEach, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';

import { Admission, type AdmittedTurn, ApiError, type Lease, type TurnEstimate } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { type Service, startService } from '../support/service.js';

/** Lets nobody in until the test says so, and counts the places it gave and got back. */
class Doorkeeper extends Admission {
  readonly waiting: PromiseWithResolvers<undefined>[] = [];
  readonly arrivals = Promise.withResolvers<undefined>();
  readonly aborted = Promise.withResolvers<undefined>();
  readonly returned = Promise.withResolvers<undefined>();
  given = 0;

  override async acquire(_turn: AdmittedTurn, _estimate: TurnEstimate, signal: AbortSignal): Promise<Lease> {
    const turn = Promise.withResolvers<undefined>();
    this.waiting.push(turn);
    this.arrivals.resolve(undefined);
    signal.addEventListener('abort', () => this.aborted.resolve(undefined));
    await turn.promise;
    this.given += 1;
    return {
      release: async () => {
        this.given -= 1;
        this.returned.resolve(undefined);
        await Promise.reject(new Error('nobody waits for a release'));
      },
    };
  }
}

describe('the admission of turns', () => {
  let service: Service;

  afterEach(() => service.close());

  it('the admission of turns refuses what is beyond MAX_RUNNING_TURNS, and takes turns again when one has ended', async () => {
    service = await startService({ environment: { MAX_RUNNING_TURNS: 1 }, providers: [ScriptedProvider] });
    const running = Promise.withResolvers<undefined>();
    const goOn = Promise.withResolvers<undefined>();
    service.app.get(ScriptedProvider).play(async function* () {
      running.resolve(undefined);
      await goOn.promise;
      yield [
        { type: 'text', delta: 'first' },
        { type: 'finish', reason: 'stop' },
      ];
    });
    const client = service.client();
    const first = client.responses.create({ model: 'm', input: 'one' });
    await running.promise;
    const second = client.responses.create({ model: 'm', input: 'two' });
    await expect(second).rejects.toMatchObject({ status: 503, code: 'server_is_overloaded' });
    await expect(second).rejects.toThrow(OpenAI.InternalServerError);
    goOn.resolve(undefined);
    await expect(first).resolves.toMatchObject({ status: 'completed' });
    await expect(client.responses.create({ model: 'm', input: 'three' })).resolves.toMatchObject({
      status: 'completed',
    });
  });

  it('the admission of turns can be replaced by one that queues, and survives its release failing', async () => {
    const doorkeeper = new Doorkeeper();
    service = await startService({ providers: [ScriptedProvider], overrides: [[Admission, doorkeeper]] });
    const response = service.client().responses.create({ model: 'm', input: 'hi' });
    const sent = response.then(() => undefined);
    await doorkeeper.arrivals.promise;
    expect(service.app.get(ScriptedProvider).turns).toHaveLength(0);
    doorkeeper.waiting[0]?.resolve(undefined);
    await sent;
    await doorkeeper.returned.promise;
    expect(doorkeeper.given).toBe(0);
  });

  it('the admission of turns gives a place back that comes after the client has left', async () => {
    const doorkeeper = new Doorkeeper();
    service = await startService({ providers: [ScriptedProvider], overrides: [[Admission, doorkeeper]] });
    const leaving = new AbortController();
    const response = service.client().responses.create({ model: 'm', input: 'hi' }, { signal: leaving.signal });
    const refused = expect(response).rejects.toThrow(OpenAI.APIUserAbortError);
    await doorkeeper.arrivals.promise;
    leaving.abort();
    await refused;
    await doorkeeper.aborted.promise;
    doorkeeper.waiting[0]?.resolve(undefined);
    await doorkeeper.returned.promise;
    expect(doorkeeper.given).toBe(0);
    expect(service.app.get(ScriptedProvider).turns).toHaveLength(0);
  });

  it('the admission of turns refuses in its own words', async () => {
    const refusal = ApiError.of('rate_limit_exceeded', 'Your team has used its turns.', {
      headers: { 'retry-after': '7' },
    });
    const acquire = (): Promise<Lease> => Promise.reject(refusal);
    service = await startService({ providers: [ScriptedProvider], overrides: [[Admission, { acquire }]] });
    const response = service.client().responses.create({ model: 'm', input: 'hi' });
    const error = await response.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect((error as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after')).toBe('7');
  });

  it.each([
    ['hides the rate limits of an upstream behind its own', { 'x-ratelimit-limit-requests': '9' }, ['9', null, 'abc']],
    ['leaves them where it has none', { 'x-team': 'blue' }, [null, '5', 'abc']],
    ['leaves them where it tells nothing', undefined, [null, '5', 'abc']],
  ])('the admission of turns %s', async (_, headers, expected) => {
    const acquire = (): Lease => ({ ...(headers === undefined ? {} : { headers }), release: () => undefined });
    service = await startService({ providers: [ScriptedProvider], overrides: [[Admission, { acquire }]] });
    const upstream = { 'X-RateLimit-Remaining-Tokens': '5', 'x-models-etag': 'abc' };
    service.app.get(ScriptedProvider).reply({ type: 'metadata', headers: upstream }, { type: 'text', delta: 'Hi' });
    const { response } = await service.client().responses.create({ model: 'm', input: 'hi' }).withResponse();
    const names = ['x-ratelimit-limit-requests', 'x-ratelimit-remaining-tokens', 'x-models-etag'];
    expect(names.map((name) => response.headers.get(name))).toEqual(expected);
  });
});
