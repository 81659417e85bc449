import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { bearer, KeysFile, sha256 } from '../access/keys.js';
import { useService } from '../support/describe-service.js';
import { WrittenTurns } from '../support/held-turns.js';
import { SocketClient } from '../support/socket-client.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

const key = (id: string, tenant: string, scopes?: readonly string[]): object => ({
  id,
  tenant,
  secrets: [{ sha256: sha256(id) }],
  ...(scopes === undefined ? {} : { scopes }),
});

describe.each(STATES)('what happens now, with the state $state', ({ open }) => {
  const service = useService(async () => {
    await using file = await KeysFile.with([
      key('red', 'red'),
      key('blue', 'blue'),
      key('operator', 'operations', ['responses:read', 'admin']),
    ]);
    return await startServiceIn(open, {
      providers: [ScriptedProvider],
      environment: {
        KEYS_FILE: file.path,
        LIMIT_REQUESTS_PER_MINUTE: 10,
        LIMIT_TOKENS_PER_MINUTE: 5000,
        LIMIT_OUTPUT_RESERVE: 1000,
        LIMIT_CONCURRENT_TURNS: 2,
        WS_MAX_CONNECTIONS_PER_TENANT: 3,
      },
    });
  });
  const activityOf = async (name: string): Promise<Readonly<Record<string, unknown>>> =>
    (await service.api.with(bearer(name)).get('activity')).body;

  it('activity shows the running turns and the limits of the tenant, and to an operator how much all tenants do', async () => {
    const modelTurns = new WrittenTurns(service.provider);
    await using socket = await SocketClient.open(service, { headers: bearer('red') });
    socket.create({ input: 'Hi' });
    const modelTurn = await modelTurns.next();
    expect(await activityOf('red')).toEqual({
      object: 'activity',
      processes: { answered: 1, silent: 0 },
      turns: [
        {
          id: modelTurn.turn.responseId,
          object: 'running_turn',
          model: 'scripted',
          provider: 'scripted',
          door: 'responses',
          transport: 'websocket',
          background: false,
          started_at: expect.any(Number),
        },
      ],
      limits: [
        limit('requests_per_minute', 10, 1, expect.any(Number)),
        limit('tokens_per_minute', 5000, expect.any(Number), expect.any(Number)),
        limit('concurrent_turns', 2, 1, null),
        limit('sockets', 3, 1, null),
      ],
    });
    expect(await activityOf('blue')).toEqual({
      object: 'activity',
      processes: { answered: 1, silent: 0 },
      turns: [],
      limits: [
        limit('requests_per_minute', 10, 0, null),
        limit('tokens_per_minute', 5000, 0, null),
        limit('concurrent_turns', 2, 0, null),
        limit('sockets', 3, 0, null),
      ],
    });
    expect(await activityOf('operator')).toMatchObject({
      turns: [],
      totals: { turns: 1, background_turns: 0, connections: 1 },
    });
    modelTurn.end({ type: 'text', delta: 'Hi' });
    await socket.finish();
  });
});

function limit(name: string, most: number, used: unknown, resetsAt: unknown): object {
  return { object: 'limit', name, model: null, limit: most, used, resets_at: resetsAt };
}
