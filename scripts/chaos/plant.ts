import type OpenAI from 'openai';

import { type Ledger, modelOf } from './ledger.ts';
import type { Webhooks } from './webhooks.ts';

/** A stream that nobody has any more would be closed when memory is collected. */
const held: unknown[] = [];

/** Commits one fault of each sort behind the back of the ledger, as a broken service would. Throws when there is nothing to break. */
export async function plantFaults(client: OpenAI, ledger: Ledger, webhooks: Webhooks): Promise<void> {
  const kept = [...ledger.responses.values()];
  const response = kept.find(({ kind, fate }) => kind === 'JSON' && fate === 'kept');
  const background = kept.find(({ kind }) => kind === 'background');
  const conversation = ledger.conversations.find(({ items }) => items.length > 0);
  const [first = ''] = conversation?.items ?? [];
  if (response === undefined || background === undefined || conversation === undefined || first === '')
    throw new Error('too little was acknowledged to plant faults in');

  // A response that is lost, with its usage counted.
  await client.responses.delete(response.id);
  // An item that is there twice.
  await client.conversations.items.create(conversation.id, {
    items: [{ type: 'message', role: 'user', content: first }],
  });
  // An end that is announced as another event.
  webhooks.note(background.id, 'another-id', `response.${background.status}`);
  // A stream that is not what its reader has seen.
  ledger.responses.set(background.id, { ...background, events: 'others' });
  // Tokens that were never counted.
  ledger.keep({ ...response, id: 'resp_never', kind: 'WebSocket', tokens: 1_000_000 }).fate = 'deleted';
  // A turn that never ends.
  held.push(
    await client.responses.create(
      { model: modelOf('SSE'), input: 'Hold on.', stream: true, store: false },
      { headers: { 'x-simulate': 'latency=1/600000/0' } },
    ),
  );
}
