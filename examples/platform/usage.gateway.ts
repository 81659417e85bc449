import { Module, UseFilters } from '@nestjs/common';
import { ConnectedSocket, MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { ApiError, connectionOf, ErrorEventFilter } from 'antiphon';
import type { WebSocket } from 'ws';

import { UsageMeter } from './usage-meter.js';

/** A custom event on the sockets of the Responses API: returns the usage of the client's team. */
@WebSocketGateway({ path: '/v1/responses' })
@UseFilters(ErrorEventFilter)
export class UsageGateway {
  constructor(private readonly meter: UsageMeter) {}

  @SubscribeMessage('platform.usage')
  usage(@ConnectedSocket() socket: WebSocket, @MessageBody() { unit = 'tokens' }: { readonly unit?: string }): object {
    const connection = connectionOf(socket);
    if (connection === undefined || unit !== 'tokens') {
      throw ApiError.of('invalid_value', "Invalid value: 'unit' must be 'tokens'.", { param: 'unit' });
    }
    return { type: 'platform.usage', tokens: this.meter.tokensOf(connection.tenant) };
  }

  /** Takes the place of the service's own steering. */
  @SubscribeMessage('response.steer')
  steer(): object {
    return { type: 'platform.noted' };
  }
}

/** UsageMeter observes turns because it extends TurnObserver. */
@Module({ providers: [UsageMeter, UsageGateway], exports: [UsageMeter] })
export class UsageModule {}
