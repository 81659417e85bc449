import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { describeService } from '../support/describe-service.js';
import { parentNotFound, SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { transcript } from '../support/output.js';

describeService('forks between the lanes of a socket', { providers: [ScriptedProvider] }, (service) => {
  let client: SocketClient;
  let root: string;

  beforeEach(async () => {
    client = await SocketClient.open(service);
    root = await say('main', 'Root?');
  });

  afterEach(() => client[Symbol.asyncDispose]());

  /** One turn on a lane that answers `re <input>`; gives the response's id. */
  const say = async (
    stream_id: string,
    input: string,
    previous_response_id: string | null = null,
    store = false,
  ): Promise<string> => {
    service.provider.reply({ type: 'text', delta: `re ${input}` });
    const { response } = await client.turn({ stream_id, input, previous_response_id, store });
    return response.id;
  };

  const seen = (): readonly string[] => transcript(service.provider.turns.at(-1)?.context ?? []);
  const asked = (...texts: readonly string[]): readonly string[] =>
    texts.flatMap((text, index) => [`user: ${text}`, ...(index < texts.length - 1 ? [`assistant: re ${text}`] : [])]);

  it('a fork takes the latest response of another lane, and both go on by themselves', async () => {
    let fork = await say('fork', 'Left?', root);
    expect(seen()).toEqual(asked('Root?', 'Left?'));
    const main = await say('main', 'Right?', root);
    expect(seen()).toEqual(asked('Root?', 'Right?'));
    fork = await say('fork', 'Left again?', fork);
    expect(seen()).toEqual(asked('Root?', 'Left?', 'Left again?'));
    await say('main', 'Right again?', main);
    expect(seen()).toEqual(asked('Root?', 'Right?', 'Right again?'));
    // And back to the lane that it came from.
    await say('main', 'Over there?', fork);
    expect(seen()).toEqual(asked('Root?', 'Left?', 'Left again?', 'Over there?'));
  });

  it('a socket forks to the default lane and from it', async () => {
    const { response } = await client.turn({ input: 'Default?', previous_response_id: root, store: false });
    expect(seen()).toEqual(asked('Root?', 'Default?'));
    await say('fork', 'Fork?', response.id);
    expect(seen()).toEqual(['user: Root?', 'assistant: re Root?', 'user: Default?', 'assistant: ok', 'user: Fork?']);
  });

  it('a socket forks one response many times at once', async () => {
    const held = new HeldTurns(service.provider).hold(3);
    for (const lane of ['a', 'b', 'c']) {
      client.create({ stream_id: lane, input: lane, previous_response_id: root, store: false });
    }
    await held.whenBegun(3);
    held.letAllGo();
    for (const lane of ['a', 'b', 'c']) {
      const { id } = (await client.finish(lane)).response;
      await say(lane, 'More?', id);
      expect(seen()).toEqual([...asked('Root?', lane), `assistant: re ${lane}`, 'user: More?']);
    }
  });

  it('a fork finds nothing after the parent lane has gone on, unless the parent is stored', async () => {
    await say('main', 'On?', root);
    const refusal = await client.refusal({ stream_id: 'fork', input: 'Late?', previous_response_id: root });
    expect(refusal).toMatchObject({ ...parentNotFound(root), stream_id: 'fork' });
    const stored = await say('main', 'Stored?', null, true);
    await say('main', 'On?', stored);
    await say('fork', 'Late?', stored);
    expect(seen()).toEqual(asked('Stored?', 'Late?'));
  });

  it('a fork takes its parent when it starts, so that the parent lane may go on from then', async () => {
    const held = new HeldTurns(service.provider).hold();
    client.create({ stream_id: 'fork', input: 'Slow?', previous_response_id: root, store: false });
    while ((await client.nextOf('fork')).type !== 'response.in_progress');
    await say('main', 'On?', root);
    held.letGo('Slow?');
    const { response } = (await client.nextEnd('fork')) as unknown as { readonly response: { readonly id: string } };
    await say('fork', 'More?', response.id);
    expect(seen()).toEqual(asked('Root?', 'Slow?', 'More?'));
  });

  it('a fork is sent together with the turn that takes the parent lane on', async () => {
    client.create({ stream_id: 'fork', input: 'Fork?', previous_response_id: root, store: false });
    client.create({ stream_id: 'main', input: 'On?', previous_response_id: root, store: false });
    expect(await client.nextEnd('fork')).toMatchObject({ type: 'response.completed' });
    expect(await client.nextEnd('main')).toMatchObject({ type: 'response.completed' });
  });

  it.each([
    ['goes on', 'On?', 'response.completed'],
    ['fails', 7, 'error'],
  ])('a fork finds nothing if the parent lane %s while the fork waits', async (_, input, end) => {
    const held = new HeldTurns(service.provider).hold();
    client.create({ stream_id: 'fork', input: 'Busy?' });
    client.create({ stream_id: 'fork', input: 'Late?', previous_response_id: root, store: false });
    await held.whenBegun(1);
    client.create({ stream_id: 'main', input, previous_response_id: root, store: false });
    expect(await client.nextEnd('main')).toMatchObject({ type: end });
    held.letGo('Busy?');
    expect(await client.nextEnd('fork')).toMatchObject({ type: 'response.completed' });
    expect(await client.nextEnd('fork')).toMatchObject({ ...parentNotFound(root), stream_id: 'fork' });
  });

  it('a fork finds a parent that is made while the fork waits', async () => {
    const held = new HeldTurns(service.provider).hold(2);
    client.create({ stream_id: 'main', input: 'Parent?', store: false });
    const created = await client.nextOf('main');
    const { id } = created['response'] as { readonly id: string };
    client.create({ stream_id: 'fork', input: 'Busy?' });
    client.create({ stream_id: 'fork', input: 'Early?', previous_response_id: id, store: false });
    await held.whenBegun(2);
    await client.roundTrip();
    held.letGo('Parent?');
    await client.nextEnd('main');
    held.letGo('Busy?');
    expect(await client.nextEnd('fork')).toMatchObject({ type: 'response.completed' });
    expect(await client.nextEnd('fork')).toMatchObject({ type: 'response.completed' });
    expect(seen()).toEqual(asked('Parent?', 'Early?'));
  });

  it('a fork does not find a parent that is still running', async () => {
    const held = new HeldTurns(service.provider).hold();
    client.create({ stream_id: 'main', input: 'Slow?', store: false });
    const { id } = (await client.nextOf('main'))['response'] as { readonly id: string };
    const refusal = await client.refusal({ stream_id: 'fork', input: 'Early?', previous_response_id: id });
    expect(refusal).toMatchObject(parentNotFound(id));
    held.letGo('Slow?');
    expect(await client.nextEnd('main')).toMatchObject({ type: 'response.completed' });
    await say('fork', 'Now?', id);
    expect(seen()).toEqual(asked('Slow?', 'Now?'));
  });
});
