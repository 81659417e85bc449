import type { LogLevel } from '@nestjs/common';

import { LEVELS } from '../config/index.js';

/** What is logged of each part of the service: LOG_LEVEL, and LOG_LEVELS for some of them. */
export class PartLevels {
  /** All that some part logs. */
  readonly most: readonly LogLevel[];
  private readonly ranks: ReadonlyMap<unknown, number>;
  private readonly rank: number;

  constructor(level: LogLevel, ofParts: Readonly<Record<string, LogLevel>>) {
    this.rank = LEVELS.indexOf(level);
    this.ranks = new Map(Object.entries(ofParts).map(([part, own]) => [part, LEVELS.indexOf(own)]));
    this.most = LEVELS.slice(0, Math.max(this.rank, ...this.ranks.values()) + 1);
  }

  /** Whether a part logs lines of a level. */
  permits(part: unknown, level: LogLevel): boolean {
    return LEVELS.indexOf(level) <= (this.ranks.get(part) ?? this.rank);
  }
}
