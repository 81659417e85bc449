import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock, Random } from '../../src/index.js';
import { refusal } from '../support/chat-upstream/refusals.js';
import { saidIn } from '../support/output.js';
import { useService } from '../support/describe-service.js';
import { PausingClock } from '../support/clocks.js';
import { ChosenRandom } from '../support/routing/chosen-random.js';
import { startRoutedService } from '../support/routing/routed-service.js';
import { SocketClient } from '../support/socket-client.js';
import type { WireResponse } from '../support/transport.js';
import { JSON_TRANSPORT, SSE_TRANSPORT } from '../support/transports.js';

const REST_MS = 5000;

const clock = new PausingClock();
const random = new ChosenRandom();
// Before it closes.
afterAll(() => clock.letGo());
const service = useService(() =>
  startRoutedService({
    upstreams: { a: {}, b: {}, c: {} },
    models: [
      { name: 'two', upstreams: [{ provider: 'a', weight: 3 }, { provider: 'b' }] },
      {
        name: 'small',
        upstreams: [
          { provider: 'a', weight: 0.001 },
          { provider: 'b', weight: 0.003 },
        ],
      },
      { name: 'three', upstreams: [{ provider: 'a' }, { provider: 'b', weight: 2 }, { provider: 'c' }] },
      { name: 'same-two', alias: 'two' },
      { name: 'others', upstreams: [{ provider: 'c' }, { provider: 'a' }] },
      {
        name: 'same-provider',
        upstreams: [
          { provider: 'a', model: 'first' },
          { provider: 'a', model: 'second' },
        ],
      },
    ],
    overrides: [
      [Clock, clock],
      [Random, random],
    ],
  }),
);

beforeEach(() => {
  // Nobody rests any more.
  clock.advance(60_000);
  service.forget();
  random.stay(0);
});

const byOf = (response: WireResponse): unknown => (saidIn(response)[0] as { readonly text: string }).text;

/** Who answers a turn. */
async function by(model: string, members: object = {}): Promise<unknown> {
  return byOf((await JSON_TRANSPORT.run(service, { model, input: 'Go on.', ...members })).response);
}

/** A first turn that goes where chance says. */
async function begin(model: string, chance: number, members: object = {}): Promise<WireResponse> {
  random.stay(chance);
  return (await SSE_TRANSPORT.run(service, { model, input: 'Hi', ...members })).response;
}

describe('turns are shared out', () => {
  it.each([
    ['two', 0, 'a'],
    ['two', 0.7499, 'a'],
    ['two', 0.7501, 'b'],
    ['two', 0.9999, 'b'],
    ['small', 0.2499, 'a'],
    ['small', 0.2501, 'b'],
    ['three', 0.2499, 'a'],
    ['three', 0.2501, 'b'],
    ['three', 0.7499, 'b'],
    ['three', 0.7501, 'c'],
    ['three', 0.9999999999999999, 'c'],
  ])('turns are shared out by weight: %s at %d to %s', async (model, chance, expected) => {
    random.stay(chance);
    expect(await by(model)).toBe(expected);
  });

  it('three to one where the weights are', async () => {
    const counts: Record<string, number> = {};
    for (let turn = 0; turn < 40; turn += 1) {
      random.stay((turn + 0.5) / 40);
      const name = String(await by('two'));
      counts[name] = (counts[name] ?? 0) + 1;
    }
    expect(counts).toEqual({ a: 30, b: 10 });
  });

  it.each([
    [
      [0, 0, 0],
      ['a', 'b', 'c'],
    ],
    [
      [0.9, 0, 0],
      ['c', 'a', 'b'],
    ],
    // Of what is left, a is a third.
    [
      [0.9, 0.3, 0],
      ['c', 'a', 'b'],
    ],
    [
      [0.9, 0.4, 0],
      ['c', 'b', 'a'],
    ],
    [
      [0.5, 0.6, 0],
      ['b', 'c', 'a'],
    ],
  ])('turns are shared out by weight among those that are left: %j', async (chances, expected) => {
    const order: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      service.upstream(name).respond(() => {
        order.push(name);
        return refusal(500);
      });
    }
    random.choose(...chances);
    await expect(by('three')).rejects.toMatchObject({ status: 500 });
    expect(order).toEqual(expected);
  });
});

describe('a conversation', () => {
  it('a conversation goes on where it was answered, whatever chance says', async () => {
    let response = await begin('two', 0.9);
    expect(byOf(response)).toBe('b');
    random.stay(0);
    for (let turn = 0; turn < 3; turn += 1) {
      const next = { model: 'two', input: 'Go on.', previous_response_id: response.id };
      ({ response } = await JSON_TRANSPORT.run(service, next));
      expect(byOf(response)).toBe('b');
    }
    expect(await by('two')).toBe('a');
  });

  it('a conversation goes on where it was answered in each of its branches', async () => {
    const root = await begin('two', 0.9);
    random.stay(0);
    const branches = [1, 2, 3].map(() => by('two', { previous_response_id: root.id }));
    expect(await Promise.all(branches)).toEqual(['b', 'b', 'b']);
  });

  it('a conversation goes on where it was answered under another name of the same upstreams', async () => {
    const root = await begin('two', 0.9);
    random.stay(0);
    expect(await by('same-two', { previous_response_id: root.id })).toBe('b');
    expect(await by('three', { previous_response_id: root.id })).toBe('b');
  });

  it('a conversation goes by chance under a name that does not have its upstream', async () => {
    const root = await begin('two', 0.9);
    random.stay(0);
    expect(await by('others', { previous_response_id: root.id })).toBe('c');
  });

  it('a conversation goes on where it was answered in the end', async () => {
    service.upstream('a').refuse(500);
    const root = await begin('two', 0);
    expect(byOf(root)).toBe('b');
    clock.advance(REST_MS);
    expect(await by('two')).toBe('a');
    expect(await by('two', { previous_response_id: root.id })).toBe('b');
  });

  it('a conversation moves when its upstream fails, and stays there', async () => {
    const root = await begin('two', 0.9);
    random.stay(0.9);
    service.upstream('b').refuse(500);
    const { response } = await JSON_TRANSPORT.run(service, { model: 'two', input: 'x', previous_response_id: root.id });
    expect(byOf(response)).toBe('a');
    clock.advance(REST_MS);
    expect(await by('two', { previous_response_id: response.id })).toBe('a');
    expect(await by('two', { previous_response_id: root.id })).toBe('b');
  });

  it('a conversation does not wait for an upstream that rests', async () => {
    const root = await begin('two', 0.9);
    service.upstream('b').refuse(500);
    random.stay(0.9);
    expect(await by('two')).toBe('a');
    service.forget();
    expect(await by('two', { previous_response_id: root.id })).toBe('a');
    expect(service.asked()).toEqual(['a']);
  });

  it.each([true, false])('a conversation goes on where it was answered on a socket, with store: %s', async (store) => {
    await using client = await SocketClient.open(service);
    random.stay(0.9);
    const { response } = await client.turn({ model: 'two', input: 'Hi', store });
    expect(byOf(response)).toBe('b');
    random.stay(0);
    const next = await client.turn({ model: 'two', input: 'x', store, previous_response_id: response.id });
    expect(byOf(next.response)).toBe('b');
    expect(byOf((await client.turn({ model: 'two', input: 'Hi' })).response)).toBe('a');
  });

  it('a conversation goes on where it was answered after a failure on a socket', async () => {
    await using client = await SocketClient.open(service);
    service.upstream('a').refuse(500);
    random.stay(0);
    const { response } = await client.turn({ model: 'two', input: 'Hi', store: false });
    expect(byOf(response)).toBe('b');
    clock.advance(REST_MS);
    const next = { model: 'two', input: 'x', store: false, previous_response_id: response.id };
    expect(byOf((await client.turn(next)).response)).toBe('b');
  });

  it('a conversation goes on where it was answered when it changes from a socket to HTTP and back', async () => {
    await using client = await SocketClient.open(service);
    random.stay(0.9);
    const first = await client.turn({ model: 'two', input: 'Hi' });
    random.stay(0);
    const request = { model: 'two', input: 'x', previous_response_id: first.response.id };
    const second = await JSON_TRANSPORT.run(service, request);
    expect(byOf(second.response)).toBe('b');
    const third = await client.turn({ ...request, previous_response_id: second.response.id });
    expect(byOf(third.response)).toBe('b');
  });

  it('a conversation goes on with the same one of several models at its upstream', async () => {
    const root = await begin('same-provider', 0.9);
    random.stay(0);
    await by('same-provider', { previous_response_id: root.id });
    const models = service.upstream('a').requests.map(({ body }) => body.model);
    expect(models).toEqual(['second', 'second']);
  });
});

describe('an upstream that failed', () => {
  it('an upstream that failed comes last for five seconds', async () => {
    service.upstream('a').refuse(500);
    expect(await by('two')).toBe('b');
    service.forget();
    clock.advance(REST_MS - 1);
    expect(await by('two')).toBe('b');
    expect(service.asked()).toEqual(['b']);
    clock.advance(1);
    expect(await by('two')).toBe('a');
  });

  it('an upstream that failed is asked all the same when all others fail', async () => {
    service.upstream('a').refuse(500);
    await by('two');
    service.upstream('b').refuse(500);
    service.forget();
    expect(await by('two')).toBe('a');
    expect(service.asked()).toEqual(['a', 'b']);
  });

  it('an upstream that failed comes first again once it has answered', async () => {
    service.upstream('a').refuse(500);
    await by('two');
    service.upstream('b').refuse(500);
    expect(await by('two')).toBe('a');
    service.forget();
    expect(await by('two')).toBe('a');
    expect(service.asked()).toEqual(['a']);
  });

  it('an upstream that failed rests as others do: then chance decides again', async () => {
    service.upstream('a').refuse(500);
    service.upstream('b').refuse(500);
    await expect(by('two')).rejects.toThrow();
    random.stay(0.9);
    expect(await by('two')).toBe('b');
  });

  it.each([
    ['as long as it asks for', '30', 30_000],
    ['no less than five seconds', '1', 5000],
    ['no longer than a minute', '3600', 60_000],
  ])('an upstream that failed rests %s', async (_, retryAfter, restMs) => {
    service.upstream('a').refuse(429, 'openai', { 'retry-after': retryAfter });
    expect(await by('two')).toBe('b');
    clock.advance(restMs - 1);
    expect(await by('two')).toBe('b');
    clock.advance(1);
    expect(await by('two')).toBe('a');
  });

  it('an upstream that failed because of the request itself does not rest', async () => {
    service.upstream('a').refuse(400);
    await expect(by('two')).rejects.toMatchObject({ status: 400 });
    expect(await by('two')).toBe('a');
  });
});
