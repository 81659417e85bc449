import type { ServerResponse } from 'node:http';

import { Injectable } from '@nestjs/common';

/** HTTP answers in progress: a turn ends before its last byte is sent. */
@Injectable()
export class OpenReplies {
  private readonly open = new Set<ServerResponse>();
  private whenClosed: PromiseWithResolvers<undefined> | null = null;

  add(response: ServerResponse): void {
    this.open.add(response);
    response.once('close', () => {
      this.open.delete(response);
      if (this.open.size === 0) this.whenClosed?.resolve(undefined);
    });
  }

  /** Resolves when no answer is in progress. */
  allClosed(): Promise<unknown> {
    if (this.open.size === 0) return Promise.resolve();
    this.whenClosed ??= Promise.withResolvers();
    return this.whenClosed.promise;
  }

  /** Closes the connections of answers in progress. Those with a request for a tunnel behind them are none of the server's any more. */
  cut(): void {
    for (const response of this.open) response.destroy();
  }
}
