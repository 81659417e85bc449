import { afterAll, afterEach, describe, expect, it } from '@jest/globals';

import { Clock, Random } from '../../src/index.js';
import { freePort } from '../support/ports.js';
import { refusal } from '../support/chat-upstream/refusals.js';
import { PausingClock } from '../support/clocks.js';
import { ChosenRandom } from '../support/routing/chosen-random.js';
import { type RoutedService, startRoutedService } from '../support/routing/routed-service.js';
import { useProvidersFile } from '../support/providers-file.js';
import { SLOW_REFUSALS } from '../support/service.js';
import { TRANSPORTS } from '../support/transports.js';

const TURN = { model: 'm', input: 'Go on.' };

type Upstreams = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const clock = new PausingClock();
// Written before the hook that ends the service.
afterAll(() => clock.letGo());
const within = useProvidersFile('providers.json', {
  environment: SLOW_REFUSALS,
  overrides: [
    [Clock, clock],
    [Random, new ChosenRandom()],
  ],
});
let service: RoutedService;

/** Has the service load these upstreams of one model. */
async function start(upstreams: Upstreams, attempts?: number): Promise<void> {
  service = await startRoutedService({
    within,
    upstreams,
    common: {},
    ...(attempts === undefined ? {} : { attempts }),
    models: [{ name: 'm', upstreams: Object.keys(upstreams).map((provider) => ({ provider })) }],
  });
}

const post = (): Promise<Response> =>
  fetch(`${service.baseURL}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(TURN),
  });

describe('all attempts of a turn', () => {
  afterEach(() => service.close());

  /** Calls with the official SDK, which retries twice by itself, and returns the error. */
  async function callWithSdk(): Promise<unknown> {
    const call = service.client({ maxRetries: 2 }).responses.create(TURN);
    return call.then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  it.each<readonly [what: string, upstreams: Upstreams, attempts: number | undefined, calls: number]>([
    ['one upstream', { a: {} }, undefined, 3],
    ['one upstream with a small budget', { a: {} }, 2, 2],
    ['two upstreams without retries', { a: { retries: 0 }, b: { retries: 0 } }, undefined, 2],
    ['three upstreams', { a: {}, b: {}, c: {} }, undefined, 6],
    ['more upstreams than the budget allows', { a: {}, b: {}, c: {} }, 2, 2],
  ])('the attempts of a turn are all that one call of an SDK costs: %s', async (_, upstreams, attempts, calls) => {
    await start(upstreams, attempts);
    for (const name of Object.keys(upstreams)) service.upstream(name).alwaysRespond(refusal(500));
    const error = (await callWithSdk()) as { readonly status: number; readonly headers: Headers };
    expect([error.status, error.headers.get('x-should-retry')]).toEqual([500, 'false']);
    expect(service.asked()).toHaveLength(calls);
  });

  it('the attempts of a turn are all that a call costs where the service waits as the upstream asks', async () => {
    await start({ a: {} });
    service.upstream('a').alwaysRespond(refusal(503, 'openai', { 'retry-after': '1' }));
    expect(await callWithSdk()).toMatchObject({ status: 503 });
    expect(service.asked()).toHaveLength(3);
  });

  it.each<readonly [what: string, upstreams: Upstreams, status: number, headers: Record<string, string>]>([
    ['there was only one', { a: { retries: 0 } }, 500, {}],
    ['the client is to wait', { a: {}, b: {} }, 429, { 'retry-after': '30' }],
    ['the request is at fault', { a: {}, b: {} }, 400, {}],
  ])('the attempts of a turn leave it to the client what to do next if %s', async (_, upstreams, status, headers) => {
    await start(upstreams);
    for (const name of Object.keys(upstreams)) service.upstream(name).alwaysRespond(refusal(status, 'openai', headers));
    const answer = await post();
    expect([answer.status, answer.headers.get('x-should-retry')]).toEqual([status, null]);
  });

  it('attempts that reached no upstream do not count: it may be back when the client retries', async () => {
    await start({ a: { base_url: `http://127.0.0.1:${await freePort()}/v1` }, b: { retries: 0 } });
    service.upstream('b').alwaysRespond(refusal(500));
    const answer = await post();
    expect([answer.status, answer.headers.get('x-should-retry')]).toEqual([503, null]);
    expect(service.asked()).toEqual(['b']);
  });

  it.each(TRANSPORTS)('attempts that failed are one refusal on $name', async (transport) => {
    await start({ a: {} });
    service.upstream('a').alwaysRespond(refusal(500));
    await expect(transport.run(service, TURN)).rejects.toMatchObject({
      status: 500,
      body: { error: { type: 'server_error' } },
    });
  });
});
