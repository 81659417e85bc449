import { describe, expect, it } from '@jest/globals';

import { messagesIn, ROADS } from './roads.js';
import { Stack, turnsOf } from './stack.js';

describe.each(ROADS)('Codex $name', (road) => {
  it('Codex has its answer when the service is killed and started again in the middle', async () => {
    await using stack = await Stack.open(road);
    await using codex = await stack.codex();
    stack.model
      .hold()
      .answer({ text: ['Once', ' upon', ' a time'] })
      .answer({ text: 'The end.' });
    const run = codex.begin('Tell me a story.');
    await stack.model.received();
    stack.model.release(2);
    await stack.restartLast();
    stack.model.release();

    const ended = await run.ended;
    expect(ended).toMatchObject({ code: 0 });
    expect(messagesIn(ended).at(-1)).toBe('The end.');
    expect(stack.model.requests.length).toBeGreaterThan(1);
    expect(stack.lastRequest.body.messages?.at(-1)).toMatchObject({ role: 'user', content: 'Tell me a story.' });
    const last = (await turnsOf(stack.services[0], 1)).at(-1);
    expect(last).toMatchObject({ status: 'completed' });
  });
});

describe.each(ROADS.filter(({ services, supportsWebsockets }) => services === 2 && supportsWebsockets))(
  'Codex $name',
  (road) => {
    it('Codex passes by what it is told of reconnections to the next service', async () => {
      await using stack = await Stack.open(road);
      await using codex = await stack.codex();
      await stack.killLast();
      stack.model.answer({ text: 'Here I am.' });
      const run = codex.begin('Where are you?');
      // Its client is told as the log is, with WS_UPSTREAM_NOTICES.
      await stack.services[0].written((output) => output.includes('Reconnecting... 1/'));
      await stack.restartLast();
      const ended = await run.ended;
      expect(ended).toMatchObject({ code: 0 });
      expect(messagesIn(ended).at(-1)).toBe('Here I am.');
    });
  },
);
