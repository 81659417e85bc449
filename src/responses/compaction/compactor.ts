import { Injectable } from '@nestjs/common';

import { asTenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { mayExceed, writeCompacted } from '../../context/index.js';
import { ApiError, type Item } from '../../protocol/index.js';
import type { ModelEvent } from '../../providers/index.js';
import { Seals } from '../../seals/index.js';
import { type NextPass, type OwnPass, TokenMeter } from '../turn/index.js';
import { divideContext, type DividedContext } from './divide-context.js';
import { type CountItems, keepLatest } from './kept-messages.js';
import { Summarizer } from './summarizer.js';

/** A compaction that is to be made. */
interface Plan extends DividedContext {
  /** Messages of the history that are kept as they are, oldest first. */
  readonly kept: readonly Item[];
}

/** The key of the compaction item among the events of its pass. */
const KEY = 'compaction';

const TYPE = 'compaction';

const OPENING: readonly ModelEvent[] = [
  { type: 'item.open', key: KEY, item: { type: TYPE, encrypted_content: '' } },
  { type: 'item.event', key: KEY, event: { type: 'response.compaction.compacting' } },
];

/** The part of a window at which contexts are compacted by default: there has to be room for the answer. */
const SHARE_OF_WINDOW = 0.8;

/** Compacts contexts: replaces them by their latest user messages, a summary of the rest, and what is to be answered (protocol §6.11). */
@Injectable()
export class Compactor {
  constructor(
    private readonly summarizer: Summarizer,
    private readonly meter: TokenMeter,
    private readonly seals: Seals,
    private readonly environment: Environment,
  ) {}

  /** A pass that compacts the whole context, after which the response ends. Throws ApiError 400 for an empty context. */
  async whole(next: NextPass): Promise<OwnPass> {
    const divided = divideContext(next.question.context, null);
    if (divided.history.length === 0) {
      throw ApiError.badRequest('There is nothing to compact: the context has no messages.', 'input');
    }
    const plan = { ...divided, kept: await this.keep(divided, next, this.thresholdOf(next, null)) };
    return { isLast: true, generate: () => this.compact(plan, next) };
  }

  /**
   * A pass that compacts the context before the model goes on, if it has more tokens than the threshold or the window; undefined if it
   * has not, or if nothing of it can be summarised. `tokens` is the threshold of the request; null for the default.
   */
  async ifLong(next: NextPass, tokens: number | null): Promise<OwnPass | undefined> {
    const threshold = this.thresholdOf(next, tokens);
    if (!(await this.exceeds(next, Math.min(threshold, next.route.model.contextWindow ?? Infinity)))) return undefined;
    const divided = divideContext(next.question.context, next.question.input);
    const kept = await this.keep(divided, next, threshold);
    if (kept.length === divided.history.length) return undefined;
    return { isLast: false, generate: () => this.compact({ ...divided, kept }, next) };
  }

  private thresholdOf({ route }: NextPass, asked: number | null): number {
    if (asked !== null) return asked;
    const { contextWindow: window } = route.model;
    return window === undefined ? this.environment.COMPACTION_THRESHOLD : Math.floor(window * SHARE_OF_WINDOW);
  }

  private async exceeds({ question, route, signal }: NextPass, limit: number): Promise<boolean> {
    const { settings, context } = question;
    if (!mayExceed(limit, [settings.instructions, settings.tools, settings.text, ...context])) return false;
    return (await this.meter.countInput(route.provider, question, { signal, limit })) > limit;
  }

  /** What is kept must leave room, or the context would soon be beyond the threshold again. */
  private keep({ history }: DividedContext, { route, signal }: NextPass, threshold: number): Promise<readonly Item[]> {
    const budget = Math.min(this.environment.COMPACTION_KEEP_TOKENS, Math.floor(threshold / 2));
    const count: CountItems = (items, limit) => route.provider.countContextTokens(items, { signal, limit });
    return keepLatest(history, budget, count);
  }

  private async *compact(
    { settings, history, tail, kept }: Plan,
    next: NextPass,
  ): AsyncGenerator<readonly ModelEvent[]> {
    const { question, route, signal } = next;
    const summarizing = this.summarizer.summarize({ question, route, settings, history, signal });
    let opening: readonly ModelEvent[] = OPENING;
    let step = await summarizing.next();
    try {
      for (; step.done !== true; step = await summarizing.next()) {
        // Not before the model has taken the question: until then its refusal is one of the request.
        yield [...opening, ...step.value];
        opening = [];
      }
    } finally {
      await summarizing.return(undefined as never);
    }
    const items = [...settings, ...kept, step.value, ...tail];
    const ring = await this.seals.ring();
    const encrypted_content = ring.seal(asTenant(question.tenant), 'compaction', writeCompacted(items));
    yield [
      { type: 'item.close', key: KEY, item: { type: TYPE, encrypted_content } },
      { type: 'finish', reason: 'stop' },
    ];
  }
}
