import { readFile } from 'node:fs/promises';

import { UpstreamError } from '../upstream-error.js';
import { broken, CLOSED_EARLY } from './broken.js';
import { EventFeed } from './event-feed.js';
import type { AnswerTaker, Exchange } from './exchange.js';

/**
 * An answer from a file with server-sent events, in place of a network. Throws UpstreamError if the file cannot be read; its
 * message names the file and is for the log.
 */
export async function openFixture(path: string): Promise<Exchange> {
  try {
    return new FixtureExchange(await readFile(path));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new UpstreamError(`the fixture ${path} cannot be read: ${code ?? String(cause)}`, { remedy: 'none', cause });
  }
}

class FixtureExchange implements Exchange {
  readonly transport = 'sse';
  readonly headers = {};

  constructor(private readonly content: Uint8Array) {}

  async read(taker: AnswerTaker): Promise<void> {
    const feed = new EventFeed(taker);
    const hasEvents = feed.read(this.content);
    if (feed.end() || hasEvents) await taker.flush();
    if (!feed.isOver) throw broken(CLOSED_EARLY);
  }

  /** Nothing is open. */
  abort(): void {}
}
