import { describe, expect, it } from '@jest/globals';

import { ConnectionRegistry } from '../../src/connections/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { heldBy, MEGABYTE, until } from '../support/held-bodies.js';
import { SocketClient } from '../support/socket-client.js';

const service = useService({ providers: [ScriptedProvider] });

describe('a client that sends a long message and leaves at once', () => {
  it('a client that sends a long message and leaves at once has no turn run for it', async () => {
    const client = await SocketClient.open(service);
    client.send({ type: 'response.create', model: 'm', input: 'x'.repeat(8 * MEGABYTE) });
    await client.close();
    await until(() => service.app.get(ConnectionRegistry).size === 0 && heldBy(service) === 0);
    expect(service.provider.turns).toEqual([]);
  });
});
