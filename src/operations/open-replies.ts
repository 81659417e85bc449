import type { ServerResponse } from 'node:http';

import { Injectable } from '@nestjs/common';

/** The HTTP answers that are on their way: a turn is over before its last byte is read. */
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

  /** Resolves as soon as no answer is on its way. */
  allClosed(): Promise<unknown> {
    if (this.open.size === 0) return Promise.resolve();
    this.whenClosed ??= Promise.withResolvers();
    return this.whenClosed.promise;
  }
}
