import { describe, expect, it } from '@jest/globals';

import { MODEL, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { SteeredLane } from '../support/steered-lane.js';

describe('a steered model behind chat completions', () => {
  const service = useService(() => startChatService());

  it.each(['steer', 'interrupt'] as const)(
    'a steered model behind chat completions is told to stop by %s, and asked again with what it said',
    async (how) => {
      await using client = await SocketClient.open(service);
      const lane = new SteeredLane(client);
      const { upstream } = service;
      const before = upstream.requests.length;
      upstream.answer({ text: ['One', ' two', ' three'] }, { breaks: { after: 3, by: 'stall' } });
      upstream.answer({ text: ['Four'] });
      lane.create({ model: MODEL, store: false });
      const { id } = await lane.created();
      await lane.until('response.output_text.delta');
      await lane.until('response.output_text.delta');
      const request = await upstream.received(before + 1);
      lane[how](id);
      await request.closed;
      expect(await lane.end()).toMatchObject({ status: 'incomplete' });
      if (how === 'interrupt') lane.create({ model: MODEL, store: false, previous_response_id: id, input: 'Left!' });
      const { messages } = (await upstream.received(before + 2)).body as { readonly messages: readonly object[] };
      const kept = how === 'steer' ? [{ role: 'assistant', content: 'One two' }] : [];
      expect(messages).toMatchObject([{ role: 'user' }, ...kept, { role: 'user', content: 'Left!' }]);
      expect(await lane.created()).toMatchObject({ previous_response_id: id });
      expect(await lane.end()).toMatchObject({ status: 'completed', output: [{ content: [{ text: 'Four' }] }] });
    },
  );
});
