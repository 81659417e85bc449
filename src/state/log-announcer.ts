import { Logger } from '@nestjs/common';

import { OutageLog } from '../logging/index.js';
import type { StreamEvent } from '../protocol/index.js';
import type { Clock } from '../time/index.js';
import { inOneLine } from './errors.js';
import { toKey } from './keys.js';
import type { RunNotices } from './notices.js';

/** Other replicas are notified of all new events of this time with one notice, ms. */
const INTERVAL_MS = 10;

/** Tells readers of stored events: those of this process at once, those of other replicas soon. */
export class LogAnnouncer {
  private readonly outages = new OutageLog(new Logger('EventLog'));
  private readonly unannounced = new Set<string>();
  private isAnnouncing = false;

  constructor(
    private readonly notices: RunNotices,
    /** Notifies other replicas of the responses with these keys. */
    private readonly publish: (responseKeys: readonly string[]) => Promise<unknown>,
    private readonly clock: Clock,
  ) {}

  /** Events were added to the log of a response. */
  announce(responseId: string, events: readonly StreamEvent[]): void {
    if (events.length === 0) return;
    this.notices.announceLogged([responseId], events);
    this.unannounced.add(toKey(responseId));
    this.announceSoon();
  }

  private announceSoon(): void {
    if (this.isAnnouncing || this.unannounced.size === 0) return;
    this.isAnnouncing = true;
    this.clock.schedule(INTERVAL_MS, () => void this.notify());
  }

  private async notify(): Promise<void> {
    const keys = [...this.unannounced];
    this.unannounced.clear();
    try {
      await this.publish(keys);
    } catch (error) {
      // Readers look for new events from time to time.
      this.outages.warn('new events were not announced to other replicas', inOneLine(error));
    }
    // One at a time: slow storage gets larger notices, not more of them.
    this.isAnnouncing = false;
    this.announceSoon();
  }
}
