import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { mayExceed } from '../../context/index.js';
import { ApiError, CONTEXT_TOO_LONG, IdGenerator, type Item } from '../../protocol/index.js';
import {
  askProvider,
  isPlainReasoning,
  ModelError,
  type ModelEvent,
  type ModelRoute,
  readPushed,
  type Turn,
} from '../../providers/index.js';
import { ResponseAssembler } from '../assembler/response-assembler.js';
import { TokenMeter } from '../turn/token-meter.js';
import { TokenScale } from '../turn/token-scale.js';
import { divideIntoParts } from './summary-parts.js';
import { askForSummary, toSummaryMessage, toSummaryQuestion } from './summary-question.js';

/** What is to be summarised. */
export interface SummaryTask {
  /** The turn whose context it is. */
  readonly question: Turn;
  readonly route: ModelRoute;
  /** Items that stand before it and stay in effect. */
  readonly settings: readonly Item[];
  readonly history: readonly Item[];
  /** Most tokens of the summary; its model may set a lower limit. */
  readonly mostTokens: number;
  readonly signal: AbortSignal;
}

/** Less room than this for a part of a context is of no use, tokens. */
const LEAST_ROOM = 64;

/** How far a summary may exceed its limit by a count of the service: models count in their own way. */
const TOLERANCE = 1.5;

/** Has contexts summarised by the models that they belong to. */
@Injectable()
export class Summarizer {
  constructor(
    private readonly meter: TokenMeter,
    private readonly scale: TokenScale,
    private readonly ids: IdGenerator,
    private readonly environment: Environment,
  ) {}

  /**
   * Asks the model for a summary and returns it as a message; a history beyond the model's window is summarised in parts, each with the
   * summary so far. Yields a batch for each sign of life, with the upstream that answers, if it is named, and the tokens that were used. Throws the errors of the provider,
   * ModelError for a summary that is empty, refused or too long, and ApiError 400 `context_length_exceeded` when not even a part fits.
   */
  async *summarize(task: SummaryTask): AsyncGenerator<readonly ModelEvent[], Item, undefined> {
    const { settings } = task;
    const prompt = askForSummary(this.environment.COMPACTION_PROMPT, this.ids);
    let summary: Item | null = null;
    for (const part of await this.divide(task, prompt)) {
      const before = summary === null ? [] : [summary];
      summary = toSummaryMessage(yield* this.ask(task, [...settings, ...before, ...part, prompt]), this.ids);
    }
    if (summary === null) throw new Error('there is nothing to summarise');
    return summary;
  }

  /** The history in parts that the model can read at once; mostly it is one. */
  private async divide(task: SummaryTask, prompt: Item): Promise<readonly (readonly Item[])[]> {
    const { question, route, settings, history, signal } = task;
    const { contextWindow: window } = route.model;
    if (window === undefined) return [history];
    const mostTokens = mostTokensOf(task);
    // Counts are estimates.
    const limit = window - mostTokens - Math.ceil(window / 16);
    const count = (context: readonly Item[]): Promise<number> => {
      const asked = toSummaryQuestion(question, context, mostTokens);
      return this.scale.countInput(asked, route, { signal, limit }, question);
    };
    const whole = [...settings, ...history, prompt];
    const { instructions, tools } = question.settings;
    // The upstream is asked only where the count decides.
    if (!mayExceed(limit, [instructions, tools, ...whole]) || (await count(whole)) <= limit) return [history];
    const room = limit - mostTokens - (await count([...settings, prompt]));
    if (room < LEAST_ROOM) throw ApiError.of('context_length_exceeded', CONTEXT_TOO_LONG, { param: 'input' });
    const countItems = (items: readonly Item[], most: number): Promise<number> =>
      this.scale.countItems(question, route, items, { signal, limit: most });
    return divideIntoParts(history, { room, count: countItems, ids: this.ids });
  }

  /** Asks for the summary of a context. */
  private async *ask(
    task: SummaryTask,
    context: readonly Item[],
  ): AsyncGenerator<readonly ModelEvent[], string, undefined> {
    const { question, route, signal } = task;
    const mostTokens = mostTokensOf(task);
    const asked = toSummaryQuestion(question, context, mostTokens);
    const answer = this.readAnswer(asked);
    for await (const batch of readPushed((sink) => askProvider(route.provider, asked, sink), signal)) {
      yield batch.filter((event) => event.type === 'metadata').flatMap(toAnswerer);
      for (const event of batch) {
        if (event.type === 'finish') answer.endPass(event);
        else if (event.type !== 'metadata' && event.type !== 'event' && !isPlainReasoning(event)) answer.push(event);
        if (answer.pass.finish !== null) break;
      }
      if (answer.pass.finish !== null) break;
    }
    signal.throwIfAborted();
    if (answer.pass.finish === null) throw ModelError.endedEarly();
    const output = answer.outputFrom(0);
    const tokens = answer.pass.usage ?? (await this.meter.countPass(route.provider, asked, output, signal));
    yield [{ type: 'usage', ...tokens }];
    const text = requireSummary(output, answer.pass.finish.reason);
    const limit = Math.ceil(mostTokens * TOLERANCE);
    const written = output.filter(({ type }) => type === 'message');
    if ((await route.provider.countContextTokens(written, { signal, limit })) > limit) throw summaryFailed(TOO_LONG);
    return text;
  }

  /** Builds the output items of the model's answer, which no client sees. */
  private readAnswer({ responseId: id, settings }: Turn): ResponseAssembler {
    const { MAX_OUTPUT_CHARACTERS: maxOutputCharacters } = this.environment;
    const identity = { id, createdAt: 0, requestedTier: null, settings };
    const answer = new ResponseAssembler({ ...identity, writing: 'nothing', maxOutputCharacters, ids: this.ids });
    answer.beginPass();
    return answer;
  }
}

function mostTokensOf({ mostTokens, route: { model } }: SummaryTask): number {
  const { contextWindow = Infinity, maxOutputTokens = Infinity } = model;
  return Math.min(mostTokens, maxOutputTokens, Math.floor(contextWindow / 8));
}

/** Who answers, without what concerns the answer itself. */
function toAnswerer({ provider, model }: Extract<ModelEvent, { type: 'metadata' }>): readonly ModelEvent[] {
  if (provider === undefined) return [];
  return [{ type: 'metadata', provider, ...(model === undefined ? {} : { model }) }];
}

const TOO_LONG = 'it is longer than permitted';

function requireSummary(output: readonly Item[], reason: string): string {
  const parts = output.filter(({ type }) => type === 'message').flatMap(({ content }) => content as readonly Part[]);
  const text = parts.map((part) => part.text ?? '').join('');
  if (reason === 'length') throw summaryFailed(TOO_LONG);
  if (reason !== 'stop' || parts.some(({ type }) => type === 'refusal'))
    throw summaryFailed('the model refused to write it');
  if (text.trim() === '') throw summaryFailed('the model wrote nothing');
  return text;
}

interface Part {
  readonly type: string;
  readonly text?: string;
}

/** The error of a context that could not be summarised. */
export function summaryFailed(why: string): ModelError {
  return new ModelError('server_error', `The context could not be summarised: ${why}. Nothing was changed.`);
}
