import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { type Item, MAX_SEAL_CHARACTERS } from '../../protocol/index.js';
import type { NextPass } from '../turn/pass-policy.js';
import { TokenScale } from '../turn/token-scale.js';
import type { DividedContext } from './divide-context.js';
import { bytesOf, type CountItems, keepLatest } from './kept-messages.js';

/** A compaction that is to be made. */
export interface CompactionPlan extends DividedContext {
  /** Messages of the history that are kept, oldest first. */
  readonly kept: readonly Item[];
  /** What the summary stands for: the history without what is kept whole. */
  readonly replaced: readonly Item[];
  /** Most tokens of the summary. */
  readonly mostTokens: number;
  readonly mustShrink: boolean;
}

/** What a compaction is planned for. */
export interface PlanOptions {
  /** The context should have fewer tokens from then on. */
  readonly threshold: number;
  /** Whether the latest messages of the user in the history wait for their answer. */
  readonly isUnanswered: boolean;
  /** Whether the compaction fails unless the context becomes shorter. */
  readonly mustShrink: boolean;
}

/** At least: characters of other scripts have up to four bytes. */
const BYTES_PER_TOKEN = 8;

/** Plans what a compaction keeps: together with the summary it has to leave room, or the context would soon be beyond the threshold again. */
@Injectable()
export class CompactionPlanner {
  constructor(
    private readonly scale: TokenScale,
    private readonly environment: Environment,
  ) {}

  /** Undefined if what stays as it is is too large for a compaction item. */
  async plan(
    divided: DividedContext,
    { question, route, charactersLeft, signal }: NextPass,
    { threshold, isUnanswered, mustShrink }: PlanOptions,
  ): Promise<CompactionPlan | undefined> {
    const { COMPACTION_KEEP_TOKENS: keepTokens, COMPACTION_MAX_SUMMARY_TOKENS: longest } = this.environment;
    const { settings, history, tail } = divided;
    const half = Math.floor(threshold / 2);
    const mostTokens = Math.min(longest, Math.floor(threshold / 4));
    const space = bytesOfSeal(charactersLeft);
    const forSummary = Math.min(mostTokens * BYTES_PER_TOKEN, Math.floor(space / 4));
    const bytes = space - forSummary - bytesOf([...settings, ...tail]);
    if (bytes < 0) return undefined;
    const count: CountItems = (items, limit) => this.scale.countItems(question, route, items, { signal, limit });
    const kept = await keepLatest(history, {
      tokens: Math.min(keepTokens, half),
      tokensWithQuestion: half,
      bytes,
      isUnanswered,
      count,
    });
    const whole = new Set(kept);
    const replaced = history.filter((item) => !whole.has(item));
    return { ...divided, kept, replaced, mostTokens, mustShrink };
  }
}

/** For the prefix of a seal, its key id, nonce and tag, and the other members of the item. */
const OVERHEAD_CHARACTERS = 512;

/** UTF-8 bytes that fit into a seal of so many characters, or of as many as the service takes back. */
export function bytesOfSeal(characters: number): number {
  // Base64 needs four characters for three bytes.
  return Math.floor(((Math.min(characters, MAX_SEAL_CHARACTERS) - OVERHEAD_CHARACTERS) * 3) / 4);
}
