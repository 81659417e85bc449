import type { ServerResponse } from 'node:http';

import { Injectable } from '@nestjs/common';

/** HTTP answers in progress: a turn ends before its last byte is sent. */
@Injectable()
export class OpenReplies {
  private open = 0;
  private whenClosed: PromiseWithResolvers<undefined> | null = null;

  add(response: ServerResponse): void {
    this.open += 1;
    response.once('close', () => {
      this.open -= 1;
      if (this.open === 0) this.whenClosed?.resolve(undefined);
    });
  }

  /** Resolves when no answer is in progress. */
  allClosed(): Promise<unknown> {
    if (this.open === 0) return Promise.resolve();
    this.whenClosed ??= Promise.withResolvers();
    return this.whenClosed.promise;
  }
}
