import { describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { MessageBody, type OnGatewayDisconnect, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { Observable } from 'rxjs';

import { asTenant, Authenticator, type Tenant } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';

const departure = Promise.withResolvers<undefined>();
const unwatched = Promise.withResolvers<undefined>();

/** Answers what it was asked first last. */
class SlowAuthenticator extends Authenticator {
  private readonly waiting: (() => void)[] = [];

  override authenticate(): Tenant | Promise<Tenant> {
    if (this.waiting.length === 0 && !this.isSlow) return asTenant('tenant');
    return new Promise((resolve) => {
      this.waiting.push(() => resolve(asTenant('tenant')));
      setImmediate(() => this.waiting.pop()?.());
    });
  }

  isSlow = false;
}

@WebSocketGateway({ path: '/v1/responses' })
class AuditGateway implements OnGatewayDisconnect {
  @SubscribeMessage('audit')
  audit(@MessageBody() { number }: { readonly number: number }): object {
    return { type: 'audited', number };
  }

  @SubscribeMessage('watch')
  watch(): Observable<object> {
    return new Observable((watcher) => {
      watcher.next({ type: 'watched' });
      return () => unwatched.resolve(undefined);
    });
  }

  @SubscribeMessage('note')
  note(): null {
    return null;
  }

  handleDisconnect(): void {
    departure.resolve(undefined);
  }
}

@Module({ providers: [AuditGateway] })
class AuditModule {}

describe('a gateway of the embedding program on the path of the service', () => {
  const authenticator = new SlowAuthenticator();
  const service = useService({
    providers: [ScriptedProvider],
    imports: [AuditModule],
    overrides: [[Authenticator, authenticator]],
  });

  it('a gateway of the embedding program gets events in the order in which they were sent, and answers them; null is no answer', async () => {
    await using client = await SocketClient.open(service);
    authenticator.isSlow = true;
    for (const number of [1, 2, 3]) {
      client.send({ type: 'note' });
      client.send({ type: 'audit', number });
    }
    for (const number of [1, 2, 3]) expect(await client.next()).toEqual({ type: 'audited', number });
    authenticator.isSlow = false;
  });

  it('a gateway of the embedding program is unsubscribed from when the client leaves', async () => {
    {
      await using client = await SocketClient.open(service);
      client.send({ type: 'watch' });
      expect(await client.next()).toEqual({ type: 'watched' });
    }
    await expect(unwatched.promise).resolves.toBeUndefined();
  });

  it('a gateway of the embedding program hears that a client has left', async () => {
    {
      await using client = await SocketClient.open(service);
      expect((await client.turn({ input: 'Hi' })).response.status).toBe('completed');
    }
    await expect(departure.promise).resolves.toBeUndefined();
  });
});
