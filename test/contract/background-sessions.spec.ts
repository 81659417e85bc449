import { beforeEach, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { createInBackground, whenEnded, whenRunning } from '../support/background.js';
import { useFreshService } from '../support/describe-service.js';
import { HeldTurns } from '../support/held-turns.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

const IN_SESSION = { headers: { 'x-session-id': 'work' } };

describe.each(STATES)('background responses in $state', ({ open }) => {
  let held: HeldTurns;
  const service = useFreshService(() => startServiceIn(open, { providers: [ScriptedProvider] }));
  beforeEach(() => {
    held = new HeldTurns(service.provider).hold(3);
  });

  it('background responses of one session run one after the other', async () => {
    const ids: string[] = [];
    for (const input of ['a', 'b']) ids.push((await createInBackground(service, { input }, IN_SESSION)).id);
    const [first] = await held.whenBegun(1);
    // Another session does not wait.
    const other = await createInBackground(service, { input: 'c' }, { headers: { 'x-session-id': 'other' } });
    expect(await held.whenBegun(2)).toEqual([first, 'c']);
    held.letGo(first ?? '');
    await held.whenBegun(3);
    for (const input of ['a', 'b', 'c']) held.letGo(input);
    for (const id of ids) expect(await whenEnded(service, id)).toMatchObject({ status: 'completed' });
    await whenEnded(service, other.id);
    expect(held.begun.toSorted()).toEqual(['a', 'b', 'c']);
    expect((await service.api.idsOf('sessions/work/responses')).toSorted()).toEqual(ids.toSorted());
  });

  it('background responses take no places of others while they wait for their session', async () => {
    const service = await startServiceIn(open, {
      providers: [ScriptedProvider],
      environment: { BACKGROUND_MAX_RUNNING: '2' },
    });
    try {
      const turns = new HeldTurns(service.app.get(ScriptedProvider)).hold(3);
      const inputs = ['a', 'b', 'c', 'd'];
      for (const input of inputs) await createInBackground(service, { input }, IN_SESSION);
      const [first] = await turns.whenBegun(1);
      const other = await createInBackground(service, { input: 'other' });
      expect(await turns.whenBegun(2)).toEqual([first, 'other']);
      turns.letGo('other');
      expect(await whenEnded(service, other.id)).toMatchObject({ status: 'completed' });
      for (const input of inputs) turns.letGo(input);
    } finally {
      await service.close();
    }
  });

  it('background responses are cancelled when a response that they continue is deleted with all that follow it', async () => {
    const parent = await createInBackground(service, { input: 'parent' });
    await held.whenBegun(1);
    held.letGo('parent');
    await whenEnded(service, parent.id);
    const client = service.client();
    const stream = await client.responses.create({
      model: 'scripted',
      input: 'child',
      previous_response_id: parent.id,
      background: true,
      stream: true,
    });
    await held.whenBegun(2);
    await client.delete(`/responses/${parent.id}?cascade=true`);
    // Its reader in this process has had its end.
    const events = await Array.fromAsync(stream);
    expect(events.at(-1)).toMatchObject({ type: 'response.incomplete', response: { status: 'cancelled' } });
    expect(await service.api.get('responses')).toMatchObject({ body: { data: [] } });
  });

  it('a background response is in its session from the beginning, and found only there when it is named', async () => {
    const { id } = await createInBackground(service, {}, IN_SESSION);
    expect(await service.api.idsOf('sessions/work/responses')).toEqual([id]);
    const within = service.api.with({ 'x-session-id': 'work' });
    const elsewhere = service.api.with({ 'x-session-id': 'other' });
    expect(await within.get(`responses/${id}`)).toMatchObject({ status: 200 });
    expect(await elsewhere.get(`responses/${id}`)).toMatchObject({ status: 404 });
    expect(await elsewhere.post(`responses/${id}/cancel`, {})).toMatchObject({ status: 404 });
    expect(await within.post(`responses/${id}/cancel`, {})).toMatchObject({
      status: 200,
      body: { status: 'cancelled' },
    });
  });

  it('background responses are listed by status and by metadata', async () => {
    const make = async (input: string): Promise<string> =>
      (await createInBackground(service, { input, metadata: { topic: input } })).id;
    const [running, cancelled, done] = [await make('running'), await make('cancelled'), await make('done')];
    await service.client().responses.cancel(cancelled);
    await held.whenBegun(2);
    held.letGo('done');
    await whenEnded(service, done);
    await whenRunning(service, running);
    const lists = { in_progress: [running], cancelled: [cancelled], completed: [done], queued: [], failed: [] };
    for (const [status, ids] of Object.entries(lists)) {
      expect([status, await service.api.idsOf(`responses?status=${status}`)]).toEqual([status, ids]);
    }
    expect(await service.api.idsOf('responses?metadata[topic]=running')).toEqual([running]);
    held.letAllGo();
  });

  it('a background response is part of the tree of its parent while it runs', async () => {
    held.letGo('root');
    const root = await createInBackground(service, { input: 'root' });
    await whenEnded(service, root.id);
    const child = await createInBackground(service, { input: 'child', previous_response_id: root.id });
    await held.whenBegun(2);
    await whenRunning(service, child.id);
    expect(await service.api.idsOf(`responses/${root.id}/children`)).toEqual([child.id]);
    expect(await service.api.idsOf(`responses/${root.id}/leaves`)).toEqual([child.id]);
    expect(JSON.stringify((await service.api.get(`responses/${root.id}/tree`)).body)).toContain(child.id);
    expect(await service.api.idsOf(`responses/${child.id}/input_items`)).toHaveLength(1);
    held.letGo('child');
    await whenEnded(service, child.id);
  });
});
