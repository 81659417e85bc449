import { randomUUID } from 'node:crypto';

import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';

import { OutageLog } from '../logging/index.js';
import { inOneLine, type SharedLimits, StateBackend } from '../state/index.js';
import { Clock, type Timer } from '../time/index.js';
import { LimitRules } from './limit-rules.js';

/** Changes are stated together after so long, ms. */
const CHANGED_MS = 200;
/** Without changes the replicas exchange their counts this often, ms. */
const EXCHANGE_MS = 2000;
/** The counts of a replica that states nothing any more expire, ms. */
const EXPIRY_MS = 6000;

/**
 * What is open at once by counter: running turns and sockets. A process knows its own exactly; those of other replicas as they stated them,
 * which is a few hundred milliseconds ago at most.
 */
@Injectable()
export class OpenCounts implements OnApplicationBootstrap {
  private readonly outages = new OutageLog(new Logger('Limits'));
  private readonly shared: SharedLimits | undefined;
  private readonly replica = randomUUID();
  private readonly own = new Map<string, number>();
  private others: ReadonlyMap<string, number> = new Map();
  private heardAt = 0;
  private timer: Timer | null = null;
  /** When the next exchange is due, milliseconds since the epoch. */
  private dueAt = Infinity;
  private exchanging: Promise<void> | null = null;
  private hasStated = false;
  private isClosed = false;

  constructor(
    backend: StateBackend,
    private readonly clock: Clock,
    private readonly rules: LimitRules,
  ) {
    this.shared = backend.limits;
  }

  onApplicationBootstrap(): void {
    this.plan(EXCHANGE_MS);
    if (this.rules.limitOpen) this.plan(0);
  }

  /** Takes back what this replica has stated: another one may have the places. */
  async withdraw(): Promise<void> {
    this.isClosed = true;
    this.timer?.cancel();
    await this.exchanging;
    if (!this.hasStated) return;
    this.own.clear();
    await this.exchange(1);
  }

  /** What is open by a counter, on all replicas. */
  of(key: string): number {
    return (this.own.get(key) ?? 0) + this.elsewhere(key);
  }

  /** What is open on other replicas. */
  elsewhere(key: string): number {
    if (this.others.size === 0 || this.clock.now() - this.heardAt > EXPIRY_MS) return 0;
    return this.others.get(key) ?? 0;
  }

  open(key: string): void {
    this.own.set(key, (this.own.get(key) ?? 0) + 1);
    this.plan(CHANGED_MS);
  }

  close(key: string): void {
    const left = (this.own.get(key) ?? 0) - 1;
    if (left > 0) this.own.set(key, left);
    else this.own.delete(key);
    this.plan(CHANGED_MS);
  }

  /** Plans an exchange after a delay, unless there is an earlier one. */
  private plan(delayMs: number): void {
    const dueAt = this.clock.now() + delayMs;
    if (this.shared === undefined || this.isClosed || dueAt >= this.dueAt) return;
    this.timer?.cancel();
    this.dueAt = dueAt;
    this.timer = this.clock.schedule(delayMs, () => this.due());
  }

  private due(): void {
    this.dueAt = Infinity;
    // One at a time: a later one must not be overtaken by an earlier one.
    if (this.exchanging !== null) {
      this.plan(CHANGED_MS);
      return;
    }
    const isNeeded = this.rules.limitOpen || this.own.size > 0 || this.hasStated;
    if (isNeeded) this.exchanging = this.exchange(EXPIRY_MS).finally(() => (this.exchanging = null));
    this.plan(EXCHANGE_MS);
  }

  private async exchange(ttlMs: number): Promise<void> {
    try {
      this.others = (await this.shared?.exchange(this.replica, this.own, ttlMs)) ?? new Map();
      this.heardAt = this.clock.now();
      this.hasStated = true;
    } catch (error) {
      this.outages.warn('what is open on other replicas is not known', inOneLine(error));
    }
  }
}
