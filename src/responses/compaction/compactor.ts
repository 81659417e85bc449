import { Injectable, Logger } from '@nestjs/common';

import { asTenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { approvalsOpenFrom, mayExceed, writeCompacted } from '../../context/index.js';
import { OutageLog } from '../../logging/index.js';
import { ApiError, type Item } from '../../protocol/index.js';
import { BreakConnectionError, type ModelEvent } from '../../providers/index.js';
import { isUserMessage } from '../../providers/transcripts/index.js';
import { type KeyRing, Seals } from '../../context/seals/index.js';
import { Clock } from '../../time/index.js';
import type { NextPass, OwnPass } from '../turn/pass-policy.js';
import { TokenScale } from '../turn/token-scale.js';
import { type DividedContext, divideContext, type NewItems } from './divide-context.js';
import { bytesOfSeal, CompactionPlanner, type CompactionPlan } from './plan.js';
import { isSummary } from './summary-question.js';
import { Summarizer, summaryFailed } from './summarizer.js';

/** The key of the compaction item among the events of its pass. */
const KEY = 'compaction';

const TYPE = 'compaction';

const FINISH: ModelEvent = { type: 'finish', reason: 'stop' };

/** The model has taken the question: from now on the response exists. */
const TAKEN: ModelEvent = { type: 'metadata' };

/** The part of a window at which contexts are compacted by default: there has to be room for the answer. */
const SHARE_OF_WINDOW = 0.8;

/** What became of the compactions of a turn. */
export interface CompactionAttempts {
  haveFailed: boolean;
}

/** Compacts contexts: replaces them by their latest user messages, a summary of the rest, and what is to be answered (protocol §6.11). */
@Injectable()
export class Compactor {
  private readonly outages = new OutageLog(new Logger('Compactor'));

  constructor(
    private readonly summarizer: Summarizer,
    private readonly planner: CompactionPlanner,
    private readonly scale: TokenScale,
    private readonly seals: Seals,
    private readonly environment: Environment,
    private readonly clock: Clock,
  ) {}

  /**
   * A pass that compacts the whole context, after which the response ends. Throws ApiError 400 for a context that is empty, or whose
   * instructions alone are too large for the item.
   */
  async whole(next: NextPass): Promise<OwnPass> {
    const divided = this.divide(next.question.context, null);
    const { history } = divided;
    if (history.length === 0) {
      throw ApiError.badRequest('There is nothing to compact: the context has no messages.', 'input');
    }
    const isUnanswered = history.at(-1)?.role !== 'assistant';
    const plan = await this.planner.plan(divided, next, {
      threshold: this.thresholdOf(next, null),
      isUnanswered,
      mustShrink: false,
    });
    if (plan === undefined) {
      const message =
        'The context cannot be compacted: its instructions and tools are too large for a compaction item.';
      throw ApiError.of('context_length_exceeded', message, { param: 'input' });
    }
    const ring = await this.seals.ring();
    return { isLast: true, generate: () => this.compact(plan, next, ring) };
  }

  /**
   * A pass that compacts the context before the model goes on, if it has more tokens than the threshold or the window; undefined if it
   * has not, or if a summary would not bring it below. `tokens` is the threshold of the request; null for the default. If the summary
   * fails, the model goes on with the context as it is, as long as that fits its window;
   * until then the turn asks for no other summary.
   */
  async ifLong(next: NextPass, tokens: number | null, attempts: CompactionAttempts): Promise<OwnPass | undefined> {
    const threshold = this.thresholdOf(next, tokens);
    const window = next.route.model.contextWindow ?? Infinity;
    const { context, input } = next.question;
    if (!(await this.exceeds(next, context, Math.min(threshold, window)))) return undefined;
    const isTooLong = await this.exceeds(next, context, window);
    if (attempts.haveFailed && !isTooLong) return undefined;
    const divided = this.divide(context, input);
    const isUnanswered = !divided.tail.some(isUserMessage);
    const plan = await this.planner.plan(divided, next, { threshold, isUnanswered, mustShrink: true });
    if (plan === undefined || plan.replaced.length === 0) return undefined;
    // What is left anyway, with the summary so far.
    const least = [...plan.settings, ...plan.kept, ...plan.history.filter(isSummary).slice(-1), ...plan.tail];
    if (await this.exceeds(next, least, isTooLong ? window : threshold)) return undefined;
    const ring = await this.seals.ring();
    const compacting = (): AsyncGenerator<readonly ModelEvent[]> => this.compact(plan, next, ring);
    return { isLast: false, generate: () => (isTooLong ? compacting() : this.orGoOn(compacting(), next, attempts)) };
  }

  private divide(context: readonly Item[], added: NewItems): DividedContext {
    return divideContext(context, added, approvalsOpenFrom(this.clock, this.environment));
  }

  private thresholdOf({ route }: NextPass, asked: number | null): number {
    if (asked !== null) return asked;
    const { contextWindow: window } = route.model;
    return window === undefined ? this.environment.COMPACTION_THRESHOLD : Math.floor(window * SHARE_OF_WINDOW);
  }

  private async exceeds(
    { question, route, signal }: NextPass,
    context: readonly Item[],
    limit: number,
  ): Promise<boolean> {
    const { settings } = question;
    if (!mayExceed(limit, [settings.instructions, settings.tools, settings.text, ...context])) return false;
    return (await this.scale.countInput({ ...question, context }, route, { signal, limit })) > limit;
  }

  /** The item leaves as a whole: a summary that fails leaves nothing behind. */
  private async *compact(plan: CompactionPlan, next: NextPass, ring: KeyRing): AsyncGenerator<readonly ModelEvent[]> {
    const { settings, history, tail, kept, mostTokens } = plan;
    const { question, route, charactersLeft, signal } = next;
    const summarizing = this.summarizer.summarize({ question, route, settings, history, mostTokens, signal });
    let step = await summarizing.next();
    try {
      // Not before the model has taken the question: until then its refusal is one of the request.
      for (let isTaken = false; step.done !== true; step = await summarizing.next(), isTaken = true) {
        yield isTaken ? step.value : [TAKEN, ...step.value];
      }
    } finally {
      await summarizing.return(undefined as never);
    }
    const summary = step.value;
    if (plan.mustShrink) await requireShorter(summary, plan, next);
    const text = writeCompacted([...settings, ...kept, summary, ...tail]);
    if (Buffer.byteLength(text) > bytesOfSeal(charactersLeft)) throw summaryFailed('the compaction item is too large');
    const encrypted_content = ring.seal(asTenant(question.tenant), 'compaction', text);
    yield [
      { type: 'item.open', key: KEY, item: { type: TYPE, encrypted_content: '' } },
      { type: 'item.event', key: KEY, event: { type: 'response.compaction.compacting' } },
      { type: 'item.close', key: KEY, item: { type: TYPE, encrypted_content } },
      FINISH,
    ];
  }

  /** A compaction that leaves everything as it is when it fails. */
  private async *orGoOn(
    compacting: AsyncGenerator<readonly ModelEvent[]>,
    { question, signal }: NextPass,
    attempts: CompactionAttempts,
  ): AsyncGenerator<readonly ModelEvent[]> {
    try {
      yield* compacting;
    } catch (error) {
      if (signal.aborted || error instanceof BreakConnectionError) throw error;
      attempts.haveFailed = true;
      this.outages.warn(`${question.responseId} goes on without a compaction of its context`, String(error));
      yield [FINISH];
    }
  }
}

/** Throws ModelError for a summary with at least as many tokens as what it stands for. */
async function requireShorter(summary: Item, { replaced }: CompactionPlan, { route, signal }: NextPass): Promise<void> {
  const limit = await route.provider.countContextTokens([summary], { signal });
  if ((await route.provider.countContextTokens(replaced, { signal, limit })) > limit) return;
  throw summaryFailed('the summary is not shorter than what it stands for');
}
