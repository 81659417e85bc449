// Slow: starts replicas with databases.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { Clock, SystemClock } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { SharedClock } from '../../src/time/index.js';
import { ApiClient } from '../support/api-client.js';
import { createInBackground, whenEnded } from '../support/background.js';
import { databaseTime, expectSince } from '../support/machine-clock.js';
import {
  EVERY_STATE,
  openPostgres,
  type Replicas,
  SHARED_STATES,
  startReplicas,
  type StateKind,
} from '../support/state-backends.js';
import { type Service, type ServiceOptions, startService } from '../support/service.js';
import { ShiftedClock } from '../support/clocks.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';

/** The clock of a service on a machine whose own one is ahead by so many seconds. */
function clockAhead(seconds: number): SharedClock {
  return new SharedClock({ now: () => Date.now() + seconds * 1000, elapsed: () => performance.now() });
}

const FIVE_MINUTES_S = 300;
/** Much less than the difference of the clocks, and more than a test takes. */
const SHORT_TTL = { 'x-response-ttl': '200' };
const ORIGIN = 'https://app.example.com';
const KEY = { authorization: 'Bearer test' };
const TURN = { model: 'scripted', input: 'Hi' } as const;

const ENVIRONMENT = {
  SOCKET_TOKEN_TTL: '60',
  SESSION_LOCK_TIMEOUT_MS: '50',
  SESSION_LOCK_TTL_MS: '60000',
  API_KEYS: 'all:test,limited:sk-limited',
  LIMIT_REQUESTS_PER_MINUTE: '1000',
};

const onMachine = (aheadS: number, environment: object = {}): ServiceOptions => ({
  providers: [ScriptedProvider],
  environment: { ...ENVIRONMENT, ...environment },
  overrides: [[Clock, clockAhead(aheadS)]],
});

/** The text of a message. */
function textOf(item: object): string | undefined {
  return (item as { readonly content?: readonly { readonly text?: string }[] }).content?.[0]?.text;
}

describe.each(SHARED_STATES)('replicas with $state, of which one is five minutes ahead and one behind', ({ open }) => {
  let replicas: Replicas;
  let early: Service;
  let late: Service;

  beforeAll(async () => {
    // What is created on the second one in the background, the first one runs.
    const behind = onMachine(-FIVE_MINUTES_S, { BACKGROUND_MAX_RUNNING: '0' });
    replicas = await startReplicas(onMachine(FIVE_MINUTES_S), behind, open);
    ({ one: early, two: late } = replicas);
  });
  afterAll(() => replicas.close());

  const inOrder = (): readonly (readonly [name: string, first: Service, second: Service])[] => [
    ['ahead', early, late],
    ['behind', late, early],
  ];

  it('replicas with different clocks find and continue what the other one has stored, until it has expired', async () => {
    for (const [name, first, second] of inOrder()) {
      const { id } = await first.client().responses.create(TURN, { headers: SHORT_TTL });
      expect([name, (await second.client().responses.retrieve(id)).id]).toEqual([name, id]);
      const next = await second.client().responses.create({ ...TURN, previous_response_id: id });
      expect(next.previous_response_id).toBe(id);
    }
  });

  it('replicas with different clocks give the chain of a conversation the time of the database', async () => {
    const begun = databaseTime();
    const conversation = await late.client().conversations.create();
    expectSince(begun, conversation.created_at);
    for (const replica of [early, late, early, late]) {
      const asked = databaseTime();
      const turn = await replica.client().responses.create({ ...TURN, conversation: conversation.id });
      expectSince(asked, turn.created_at);
      expectSince(asked, turn.completed_at);
      // Its id as well: lists of one second are in the order of ids.
      expectSince(asked, parseInt(turn.id.slice('resp_'.length, 'resp_'.length + 12), 16) / 1000);
    }
  });

  it('replicas with different clocks run in the background what the other one has created', async () => {
    const begun = databaseTime();
    const { id, created_at } = await createInBackground(late);
    const { completed_at } = await whenEnded(late, id);
    expectSince(begun, created_at);
    expectSince(begun, completed_at);
    expect(completed_at).toBeGreaterThanOrEqual(created_at);
  });

  it('replicas with different clocks take the socket tokens of each other', async () => {
    for (const [, first, second] of inOrder()) {
      const begun = databaseTime();
      const { body } = await new ApiClient(first.baseURL, KEY).post('socket_tokens', { origin: ORIGIN });
      expectSince(begun, Number(body['expires_at']) - 60);
      const protocols = ['antiphon', `antiphon.token.${String(body['value'])}`];
      await using socket = await SocketClient.open(second, { origin: ORIGIN }, '/v1/responses', protocols);
      expect(socket.socket.protocol).toBe('antiphon');
    }
  });

  it('replicas with different clocks leave a session to the one that holds it', async () => {
    const headers = { 'x-session-id': 'held' };
    for (const [name, first, second] of inOrder()) {
      const held = new HeldTurns(first.app.get(ScriptedProvider)).hold();
      const running = first.client().responses.create({ ...TURN, input: name }, { headers });
      await held.whenBegun(1);
      await expect(second.client().responses.create(TURN, { headers })).rejects.toMatchObject({ status: 409 });
      held.letGo(name);
      expect(await running).toMatchObject({ status: 'completed' });
    }
  });

  it('replicas with different clocks count requests in one minute', async () => {
    const left = [];
    for (const replica of [early, late, early, late]) {
      const { headers } = await replica.client({ apiKey: 'sk-limited' }).responses.create(TURN).asResponse();
      left.push(headers.get('x-ratelimit-remaining-requests'));
    }
    expect(left).toEqual(['999', '998', '997', '996']);
  });
});

it('SQLite keeps the order of what it has when the clock is set back between two runs', async () => {
  const sqlite = EVERY_STATE.find(({ state }) => state === 'sqlite') as StateKind;
  await using state = await sqlite.open();
  const start = (clock: Clock): Promise<Service> =>
    startService({ providers: [ScriptedProvider], environment: state.environment, overrides: [[Clock, clock]] });
  const ahead = new ShiftedClock();
  ahead.skip(FIVE_MINUTES_S * 1000);
  const before = await start(ahead);
  const conversation = await before.client().conversations.create();
  const said = { ...TURN, conversation: conversation.id };
  const first = await before.client().responses.create({ ...said, input: 'one' });
  const held = new HeldTurns(before.app.get(ScriptedProvider)).hold();
  const running = await createInBackground(before, { input: 'waits' });
  await held.whenBegun(1);
  await before.close();

  await using after = await start(new SystemClock());
  const second = await after.client().responses.create({ ...said, input: 'two' });
  expect(second.created_at).toBeLessThan(first.created_at);
  const items = await after.client().conversations.items.list(conversation.id, { order: 'asc' });
  expect(items.data.map(textOf)).toEqual(['one', first.output_text, 'two', second.output_text]);
  const { status, created_at, completed_at } = await whenEnded(after, running.id);
  expect({ status, completed_at }).toEqual({ status: 'completed', completed_at: created_at });
});

it('the service leaves the clock of a program alone', async () => {
  const clock = new ShiftedClock();
  clock.skip(FIVE_MINUTES_S * 1000);
  const options = { providers: [ScriptedProvider], overrides: [[Clock, clock]] as const };
  await using replicas = await startReplicas(options, options, openPostgres);
  const begun = databaseTime();
  expectSince(begun, (await replicas.one.client().responses.create(TURN)).created_at - FIVE_MINUTES_S);
});
