import { expect, it, jest } from '@jest/globals';

import { asTenant } from '../../src/access/index.js';
import { writeCompacted } from '../../src/context/index.js';
import type { Item } from '../../src/protocol/index.js';
import { Seals } from '../../src/context/seals/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import type { ApiAnswer } from '../support/api-client.js';
import { useFreshService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';

const service = useFreshService({ providers: [ScriptedProvider] });
const model = 'scripted';

const user = (text: string): Item => ({
  type: 'message',
  id: `msg_${text}`,
  role: 'user',
  content: [{ type: 'input_text', text }],
});

/** A compaction item that stands for some user messages. */
async function compaction(
  texts: readonly string[],
  tenant = 'anybody',
): Promise<{ type: string; encrypted_content: string }> {
  const ring = await service.app.get(Seals, { strict: false }).ring();
  const sealed = ring.seal(asTenant(tenant), 'compaction', writeCompacted(texts.map(user)));
  return { type: 'compaction', encrypted_content: sealed };
}

/** The texts that the model saw in its latest turn; of other items, the type. */
function seen(): readonly unknown[] {
  return (service.provider.turns.at(-1)?.context ?? []).map(({ type, content }) =>
    type === 'message' ? (content as readonly { readonly text: string }[])[0]?.text : type,
  );
}

function create(body: object): Promise<ApiAnswer> {
  service.provider.reply({ type: 'text', delta: 'Fine.' });
  return service.api.post('responses', { model, ...body });
}

it('a compaction item stands for everything before it', async () => {
  const item = await compaction(['kept', 'summary']);
  await create({ input: [{ role: 'user', content: 'gone' }, item, { role: 'user', content: 'new' }] });
  expect(seen()).toEqual(['kept', 'summary', 'new']);
});

it('a compaction item is replaced by the next one', async () => {
  const input = [await compaction(['old']), { role: 'user', content: 'between' }, await compaction(['new'])];
  await create({ input });
  expect(seen()).toEqual(['new']);
});

it('a compaction item goes on with the responses after it, and is stored as it was sent', async () => {
  const item = await compaction(['kept']);
  const { body: first } = await create({ input: [item, { role: 'user', content: 'one' }] });
  const { body: second } = await create({ input: 'two', previous_response_id: first['id'] });
  await create({ input: [{ role: 'user', content: 'three' }], previous_response_id: second['id'] });
  expect(seen()).toEqual(['kept', 'one', 'Fine.', 'two', 'Fine.', 'three']);
  const listed = await service.api.get(`responses/${String(first['id'])}/input_items?order=asc`);
  expect(listed.body['data']).toMatchObject([item, {}]);
});

it('a compaction item replaces the earlier context of a chain', async () => {
  const { body: first } = await create({ input: 'gone' });
  await create({
    input: [await compaction(['kept']), { role: 'user', content: 'new' }],
    previous_response_id: first['id'],
  });
  expect(seen()).toEqual(['kept', 'new']);
});

it("a compaction item has Codex's older name too", async () => {
  await create({
    input: [
      { ...(await compaction(['kept'])), type: 'compaction_summary' },
      { role: 'user', content: 'new' },
    ],
  });
  expect(seen()).toEqual(['kept', 'new']);
});

it.each([
  ['of another service', async () => ({ type: 'compaction', encrypted_content: 'gAAAAforeign' })],
  ['of another tenant', () => compaction(['secret'], 'other')],
  [
    'that was altered',
    async () => {
      const { type, encrypted_content: sealed } = await compaction(['kept']);
      return { type, encrypted_content: `${sealed.slice(0, -2)}${sealed.endsWith('AA') ? 'BB' : 'AA'}` };
    },
  ],
])('the service refuses a compaction item %s, and names it', async (_, make) => {
  const { status, body } = await create({ input: [{ role: 'user', content: 'new' }, await make()] });
  expect(status).toBe(400);
  expect(body['error']).toMatchObject({
    type: 'invalid_request_error',
    code: 'invalid_encrypted_content',
    param: 'input[1].encrypted_content',
  });
  expect(service.provider.turns).toHaveLength(0);
});

it('a compaction item is opened once on a warm socket, and remembered with its lane', async () => {
  const ring = await service.app.get(Seals, { strict: false }).ring();
  const open = jest.spyOn(ring, 'open');
  await using client = await SocketClient.open(service);
  const say = async (body: object): Promise<string> => {
    service.provider.reply({ type: 'text', delta: 'Fine.' });
    return (await client.turn({ model, store: false, ...body })).response.id;
  };
  const first = await say({ input: [user('gone'), await compaction(['kept']), user('one')] });
  const second = await say({ input: 'two', previous_response_id: first });
  await say({ input: 'three', previous_response_id: second });
  expect(seen()).toEqual(['kept', 'one', 'Fine.', 'two', 'Fine.', 'three']);
  expect(open).toHaveBeenCalledTimes(1);
});

it('a compaction item that does not open in a conversation is named, so that it can be deleted', async () => {
  const { body: made } = await service.api.post('conversations', { items: [await compaction(['secret'], 'other')] });
  const conversation = String(made['id']);
  const { status, body } = await create({ input: 'Hi', conversation });
  expect(status).toBe(400);
  const { message, param } = body['error'] as { readonly message: string; readonly param: string };
  expect(param).toBe('conversation');
  const id = /item '(\w+)'/.exec(message)?.[1] ?? '';
  expect((await service.api.delete(`conversations/${conversation}/items/${id}`)).status).toBe(200);
  expect((await create({ input: 'Hi', conversation })).status).toBe(200);
});

it('a compaction item of which the key is gone refuses the responses behind it, and names what leads to it', async () => {
  const { body: first } = await create({ input: [await compaction(['kept']), user('one')] });
  const ring = await service.app.get(Seals, { strict: false }).ring();
  jest.spyOn(ring, 'open').mockReturnValue('altered');
  const { status, body } = await create({ input: 'two', previous_response_id: first['id'] });
  expect(status).toBe(400);
  expect(body['error']).toMatchObject({ code: 'invalid_encrypted_content', param: 'previous_response_id' });
});
