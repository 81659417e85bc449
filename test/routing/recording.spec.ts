import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock, Random } from '../../src/index.js';
import type { ChatUpstream } from '../support/chat-upstream/chat-upstream.js';
import { saidIn } from '../support/output.js';
import { PausingClock } from '../support/clocks.js';
import { RecordedSession } from '../support/recorded-session.js';
import { ChosenRandom } from '../support/routing/chosen-random.js';
import { type RoutedService, startRoutedService } from '../support/routing/routed-service.js';
import { Refusal, type Transport } from '../support/transport.js';
import { JSON_TRANSPORT, SSE_TRANSPORT, TRANSPORTS } from '../support/transports.js';

const KEY = 'tz-top-secret-0123456789';
const TOOLS = [{ type: 'function', name: 'weather', parameters: null, strict: null }];

let session: RecordedSession;

beforeEach(async () => {
  session = await RecordedSession.begin();
});

afterEach(() => session[Symbol.asyncDispose]());

/** Records what turns come to, which the given function runs. */
async function record<T>(
  prepare: (upstream: (name: string) => ChatUpstream) => void,
  run: (service: RoutedService) => Promise<T>,
): Promise<T> {
  const clock = new PausingClock();
  const service = await startRoutedService({
    upstreams: { a: { api_key: KEY, retries: 1 }, b: {} },
    models: [{ name: 'session', upstreams: [{ provider: 'a' }, { provider: 'b' }] }],
    environment: { RECORD_FILE: session.path },
    overrides: [
      [Clock, clock],
      [Random, new ChosenRandom(0)],
    ],
    prepare,
  });
  try {
    return await run(service);
  } finally {
    clock.letGo();
    await service.close();
  }
}

/** What a turn comes to, for comparison: what was said, or the refusal. */
async function outcomeOf(
  transport: Transport,
  service: Parameters<Transport['run']>[0],
  members: object,
): Promise<unknown> {
  try {
    const { response } = await transport.run(service, { model: 'session', ...members });
    return [response.status, response['usage'], saidIn(response)];
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return [error.status, error.body];
  }
}

/** Turns that differ in what they say. */
const TURNS: readonly (readonly [what: string, prepare: (upstream: ChatUpstream) => unknown])[] = [
  ['a text', (upstream) => upstream.answer({ text: ['Hel', 'lo'] })],
  [
    'thoughts',
    (upstream) => upstream.answer({ reasoning: ['Hm', 'm'], text: 'So.' }, { reasoning: 'reasoning_content' }),
  ],
  ['a call', (upstream) => upstream.answer({ toolCalls: [{ name: 'weather', arguments: ['{"a":', '1}'] }] })],
  ['a refusal', (upstream) => upstream.answer({ refusal: 'No.' })],
  ['an end at the limit', (upstream) => upstream.answer({ text: 'Cut', finish: 'length' })],
  [
    'a break in the middle',
    (upstream) => upstream.answer({ text: ['One', ' two'] }, { breaks: { after: 2, by: 'cut' } }),
  ],
  ['a refusal of the request', (upstream) => upstream.refuse(400)],
];

describe('a recording of upstreams of a file', () => {
  it.each(TURNS)('a recording of upstreams replays %s', async (_, prepare) => {
    const turn = { input: 'Go on.', tools: TOOLS };
    const recorded = await record(
      (upstream) => prepare(upstream('a')),
      (service) => outcomeOf(SSE_TRANSPORT, service, turn),
    );
    await using replay = await session.replay();
    expect(await outcomeOf(SSE_TRANSPORT, replay, turn)).toEqual(recorded);
  });

  it.each(TRANSPORTS)('a recording of upstreams replays a conversation on $name', async (transport) => {
    const converse = async (service: Parameters<Transport['run']>[0]): Promise<readonly unknown[]> => {
      const first = await transport.run(service, { model: 'session', input: 'Hi' });
      const next = { model: 'session', input: 'More', previous_response_id: first.response.id };
      return [first, await transport.run(service, next)].map(({ response }) => saidIn(response));
    };
    const recorded = await record((upstream) => {
      upstream('a').answer({ text: 'First.' }).answer({ text: 'Second.' });
    }, converse);
    expect(recorded).toEqual([[{ text: 'First.' }], [{ text: 'Second.' }]]);
    await using replay = await session.replay();
    expect(await converse(replay)).toEqual(recorded);
  });

  it.each<readonly [how: string, prepare: (upstream: (name: string) => ChatUpstream) => unknown, said: string]>([
    ['another upstream answered', (upstream) => upstream('a').refuse(429), 'b'],
    [
      'its upstream answered when it was asked again',
      (upstream) => {
        upstream('a').refuse(503).answer({ text: 'At last.' });
        upstream('b').refuse(401);
      },
      'At last.',
    ],
    [
      'its upstream said who speaks, and another answered',
      (upstream) => upstream('a').answer({ text: 'x' }, { breaks: { after: 1, by: 'cut' } }),
      'b',
    ],
  ])('a recording of upstreams replays a turn as its client saw it: %s', async (_, prepare, said) => {
    const turn = { input: 'Go on.' };
    const recorded = await record(
      (upstream) => void prepare(upstream),
      (service) => outcomeOf(JSON_TRANSPORT, service, turn),
    );
    expect(recorded).toMatchObject(['completed', {}, [{ text: said }]]);
    await using replay = await session.replay();
    expect(await outcomeOf(JSON_TRANSPORT, replay, turn)).toEqual(recorded);
  });

  it('a recording of upstreams holds neither keys nor addresses, even if a model says them', async () => {
    await record(
      (upstream) => upstream('a').answer({ text: ['The key is ', KEY.slice(0, 9), KEY.slice(9), ', psst.'] }),
      (service) => outcomeOf(JSON_TRANSPORT, service, { input: 'Hi' }),
    );
    const text = await session.text();
    expect(text).toContain('The key is ');
    expect(text).not.toMatch(/tz-top-secret|0123456789|127\.0\.0\.1/);
  });
});
