import { describe, expect, it } from '@jest/globals';

import { ModelError, type ModelEvent } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { createInBackground, whenEnded } from '../support/background.js';
import { SocketClient } from '../support/socket-client.js';
import { startServiceIn, STATES } from '../support/states.js';
import { resultsOf } from '../support/usage.js';
import { useFreshService } from '../support/describe-service.js';

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

describe.each(STATES)('usage of turns with STATE=$state', ({ open }) => {
  const service = useFreshService(() => startServiceIn(open, { providers: [ScriptedProvider] }));

  it('counts a JSON turn once', async () => {
    service.provider.reply(...ANSWER);
    await service.client().responses.create(TURN);
    expect(await resultsOf(service, 1)).toEqual([{ object: 'usage.result', ...ONE }]);
  });

  it('counts a streamed turn', async () => {
    service.provider.reply(...ANSWER);
    for await (const _ of await service.client().responses.create({ ...TURN, stream: true }));
    expect(await resultsOf(service, 1)).toMatchObject([ONE]);
  });

  it('counts turns of a socket', async () => {
    service.provider.reply(...ANSWER).reply(...ANSWER);
    await using socket = await SocketClient.open(service);
    await socket.turn(TURN);
    await socket.turn(TURN);
    expect(await resultsOf(service, 2)).toMatchObject([{ turns: 2, input_tokens: 20, output_tokens: 40 }]);
  });

  it('counts a background turn', async () => {
    service.provider.reply(...ANSWER);
    await whenEnded(service, (await createInBackground(service)).id);
    expect(await resultsOf(service, 1)).toMatchObject([ONE]);
  });

  it('counts a turn that is not stored', async () => {
    service.provider.reply(...ANSWER);
    await service.client().responses.create({ ...TURN, store: false });
    expect(await resultsOf(service, 1)).toMatchObject([ONE]);
  });

  it('keeps the usage of a response that is deleted', async () => {
    service.provider.reply(...ANSWER);
    const { id } = await service.client().responses.create(TURN);
    await service.client().responses.delete(id);
    expect(await resultsOf(service, 1)).toMatchObject([ONE]);
  });

  it('counts a turn that fails, but none that is refused', async () => {
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
    expect(await resultsOf(service, 1)).toMatchObject([{ turns: 1 }]);
  });

  it('groups by model and provider', async () => {
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
