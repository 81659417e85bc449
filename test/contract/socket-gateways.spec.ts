import { describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { type OnGatewayDisconnect, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';

const departure = Promise.withResolvers<undefined>();

@WebSocketGateway({ path: '/v1/responses' })
class AuditGateway implements OnGatewayDisconnect {
  @SubscribeMessage('audit')
  audit(): void {
    throw new Error('only turns are dispatched on this path');
  }

  handleDisconnect(): void {
    departure.resolve(undefined);
  }
}

@Module({ providers: [AuditGateway] })
class AuditModule {}

describe('a gateway of the embedding program on the path of the service', () => {
  const service = useService({ providers: [ScriptedProvider], imports: [AuditModule] });

  it('hears that a client has left', async () => {
    {
      await using client = await SocketClient.open(service);
      expect((await client.turn({ input: 'Hi' })).response.status).toBe('completed');
    }
    await expect(departure.promise).resolves.toBeUndefined();
  });
});
