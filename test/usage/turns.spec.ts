import { once } from 'node:events';

import { beforeEach, describe, expect, it } from '@jest/globals';

import { ModelError, type ModelEvent } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import type { UsageResult } from '../../src/resources/usage/usage-page.js';
import { createInBackground, whenEnded, whenRunning } from '../support/background.js';
import { SocketClient } from '../support/socket-client.js';
import { SteeredLane } from '../support/steered-lane.js';
import { startServiceIn, STATES } from '../support/state-backends.js';
import { resultsOf, usageOf } from '../support/usage.js';
import { useFreshService, useService } from '../support/describe-service.js';

const ANSWER: readonly ModelEvent[] = [
  { type: 'text', delta: 'Hello.' },
  { type: 'usage', input: 10, cached: 4, output: 20, reasoning: 5 },
];

const TURN = { model: 'scripted', input: 'Hi' };

/** What one turn with ANSWER adds. */
const ONE = {
  turns: 1,
  input_tokens: 10,
  input_cached_tokens: 4,
  output_tokens: 20,
  reasoning_tokens: 5,
};

function toSums(sum: (member: keyof typeof ONE) => number): typeof ONE {
  const members = Object.keys(ONE) as readonly (keyof typeof ONE)[];
  return Object.fromEntries(members.map((member) => [member, sum(member)])) as typeof ONE;
}

/** Of all days: another one may begin. */
function sumOf(results: readonly UsageResult[]): typeof ONE {
  return toSums((member) => results.reduce((sum, result) => sum + result[member], 0));
}

describe.each(STATES)('usage of turns with STATE=$state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));
  let before: typeof ONE;

  beforeEach(async () => {
    before = sumOf((await usageOf(service)).data.flatMap(({ results }) => results));
    service.provider.isSteerable = false;
  });

  /** What the test has added, once it has so many turns. */
  const addedBy = async (turns: number): Promise<typeof ONE> => {
    const now = sumOf(await resultsOf(service, before.turns + turns));
    return toSums((member) => now[member] - before[member]);
  };

  it('usage counts a streamed turn', async () => {
    service.provider.reply(...ANSWER);
    for await (const _ of await service.client().responses.create({ ...TURN, stream: true }));
    expect(await addedBy(1)).toMatchObject(ONE);
  });

  it('usage counts turns of a socket', async () => {
    service.provider.reply(...ANSWER).reply(...ANSWER);
    await using socket = await SocketClient.open(service);
    await socket.turn(TURN);
    await socket.turn(TURN);
    expect(await addedBy(2)).toMatchObject({ turns: 2, input_tokens: 20, output_tokens: 40 });
  });

  it('usage counts a background turn', async () => {
    service.provider.reply(...ANSWER);
    await whenEnded(service, (await createInBackground(service)).id);
    expect(await addedBy(1)).toMatchObject(ONE);
  });

  it('usage counts a turn that is not stored', async () => {
    service.provider.reply(...ANSWER);
    await service.client().responses.create({ ...TURN, store: false });
    expect(await addedBy(1)).toMatchObject(ONE);
  });

  it('usage counts a turn of a conversation', async () => {
    service.provider.reply(...ANSWER);
    const conversation = await service.client().conversations.create({});
    await service.client().responses.create({ ...TURN, conversation: conversation.id });
    expect(await addedBy(1)).toMatchObject(ONE);
  });

  it('usage counts a compaction', async () => {
    service.provider.reply(...ANSWER);
    const { usage } = await service.client().responses.compact(TURN);
    expect(await addedBy(1)).toMatchObject({
      turns: 1,
      input_tokens: usage.input_tokens,
      output_tokens: usage.output_tokens,
    });
  });

  it('usage counts a background turn that is cancelled, with what it has used', async () => {
    service.provider.play(async function* (_, { signal }) {
      yield ANSWER;
      await once(signal, 'abort');
    });
    const { id } = await createInBackground(service);
    await whenRunning(service, id);
    await service.client().responses.cancel(id);
    expect(await addedBy(1)).toMatchObject({ turns: 1 });
  });

  it('usage counts a turn that is steered and the one that follows it', async () => {
    const begun = Promise.withResolvers<undefined>();
    service.provider.isSteerable = true;
    service.provider
      .play(async function* (_, { signal }) {
        yield [{ type: 'text', delta: 'Hel' }];
        begun.resolve(undefined);
        await once(signal, 'abort').catch(() => undefined);
      })
      .reply(...ANSWER);
    await using socket = await SocketClient.open(service);
    const lane = new SteeredLane(socket);
    lane.create(TURN);
    const { id } = await lane.created();
    await begun.promise;
    lane.steer(id);
    await lane.end();
    expect(await addedBy(2)).toMatchObject({ turns: 2 });
  });

  it('the usage of a response that is deleted is kept', async () => {
    service.provider.reply(...ANSWER);
    const { id } = await service.client().responses.create(TURN);
    await service.client().responses.delete(id);
    expect(await addedBy(1)).toMatchObject(ONE);
  });

  it('usage counts a turn that fails, but none that is refused', async () => {
    service.provider.play(async function* () {
      throw new ModelError('rate_limit_exceeded', 'Busy.', { status: 429 });
      yield [];
    });
    const refused = service.client().responses.create(TURN);
    await expect(refused).rejects.toMatchObject({ status: 429 });
    service.provider.play(async function* () {
      yield ANSWER;
      throw new Error('gone');
    });
    await service
      .client()
      .responses.create(TURN)
      .catch(() => undefined);
    expect(await addedBy(1)).toMatchObject({ turns: 1 });
  });
});

describe.each(STATES)('the report of a new service with STATE=$state', ({ open }) => {
  const service = useFreshService(() => startServiceIn(open, { providers: [ScriptedProvider] }));

  it('usage counts a JSON turn once', async () => {
    service.provider.reply(...ANSWER);
    await service.client().responses.create(TURN);
    expect(await resultsOf(service, 1)).toEqual([{ object: 'usage.result', ...ONE }]);
  });

  it('usage groups by model and provider', async () => {
    service.provider.reply(...ANSWER).reply(...ANSWER);
    await service.client().responses.create(TURN);
    await service.client().responses.create({ ...TURN, model: 'other' });
    expect(await resultsOf(service, 2, '?group_by=model,provider')).toMatchObject([
      { model: 'other', provider: 'scripted', ...ONE },
      { model: 'scripted', provider: 'scripted', ...ONE },
    ]);
    expect(await resultsOf(service, 1, '?models[]=other')).toMatchObject([ONE]);
  });
});
