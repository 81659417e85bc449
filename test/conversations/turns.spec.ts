import { beforeEach, expect, it } from '@jest/globals';

import { asTenant } from '../../src/access/index.js';
import { ConversationStore } from '../../src/state/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useFreshService } from '../support/describe-service.js';

const service = useFreshService({ providers: [ScriptedProvider] });
const id = 'conv_1';

beforeEach(async () => {
  const store = service.app.get(ConversationStore, { strict: false });
  await store.create(asTenant('anybody'), { id, createdAt: 1, metadata: {} }, []);
});

/** The texts that the model saw in its latest turn. */
function seen(): readonly unknown[] {
  return (service.provider.turns.at(-1)?.context ?? []).map(
    ({ content }) => (content as readonly { readonly text: string }[])[0]?.text,
  );
}

it('has the input and output of its turns', async () => {
  const client = service.client();
  service.provider.reply({ type: 'text', delta: 'Hello.' });
  const first = await client.responses.create({ model: 'scripted', input: 'Hi', conversation: id });
  expect(first).toMatchObject({ conversation: { id }, previous_response_id: null, output_text: 'Hello.' });
  service.provider.reply({ type: 'text', delta: 'Fine.' });
  await client.responses.create({ model: 'scripted', input: 'How are you?', conversation: { id } });
  expect(seen()).toEqual(['Hi', 'Hello.', 'How are you?']);
  service.provider.reply({ type: 'text', delta: 'Branch.' });
  await client.responses.create({ model: 'scripted', input: 'Then', previous_response_id: first.id });
  expect(seen()).toEqual(['Hi', 'Hello.', 'Then']);
});
