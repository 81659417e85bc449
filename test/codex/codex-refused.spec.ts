import { describe, expect, it } from '@jest/globals';

import { complaintsIn, messagesIn } from './roads.js';
import { Stack, turnsOf } from './stack.js';

describe.each([1, 2] as const)('Codex before %i services that refuse WebSockets with 426', (services) => {
  it('Codex is served over HTTP for the whole session where WebSockets are refused, and does not complain', async () => {
    const environment = { WS_ENABLED: 'false' };
    await using stack = await Stack.open({ name: 'refused', supportsWebsockets: true, services, environment });
    await using codex = await stack.codex();
    stack.model
      .answer({ toolCalls: [{ name: 'exec_command', arguments: '{"cmd":"true"}' }] })
      .answer({ text: 'Done.' });
    const run = await codex.exec('Do it.');
    expect(run).toMatchObject({ code: 0 });
    expect(messagesIn(run)).toEqual(['Done.']);
    expect(complaintsIn(run)).toEqual([]);
    const overHttp = { status: 'completed', connection: null };
    for (const service of stack.services) {
      expect(await turnsOf(service, 2)).toEqual([overHttp, overHttp]);
      expect(service.output()).not.toMatch(/Falling back|Reconnecting/);
    }
  });
});
