import { Logger } from '@nestjs/common';

import type { IdGenerator, Item, ResponseSettings } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { ModelError } from '../model-error.js';
import type { ModelInfo } from '../model-provider.js';
import type { ModelSink } from '../model-sink.js';
import { PushingProvider } from '../pushing-provider.js';
import { countItemTokens, countSettingsTokens } from '../tokens/index.js';
import type { Turn } from '../turn.js';
import {
  readText,
  type UpstreamAddress,
  type UpstreamAnswer,
  UpstreamClient,
  UpstreamTimeoutError,
} from '../upstream-http/index.js';
import { AnswerReader, CallCollector, readAnswer } from './answer/index.js';
import type { Capabilities } from './capabilities.js';
import { readFailure, readRetryAfter, reasonOf, serverError, toModelError } from './errors/index.js';
import { readModels } from './read-models.js';
import { toChatRequest } from './request/index.js';
import { callIdOfCall, ToolTable } from './tools/index.js';

/** A server that speaks Chat Completions. */
export interface ChatCompletionsOptions {
  /** The name of the provider, for `owned_by` and our log. */
  readonly name: string;
  readonly address: UpstreamAddress;
  readonly capabilities: Capabilities;
  /** Whether the server is asked for its models. */
  readonly discover: boolean;
  /** Request members that are handed on as they are. */
  readonly forward: readonly string[];
  /** Members that the server does not take. */
  readonly omit: ReadonlySet<string>;
  /** What clients must never see. */
  readonly secrets: readonly string[];
}

/** What the provider needs of the service. */
export interface ChatCompletionsDependencies {
  readonly clock: Clock;
  readonly ids: IdGenerator;
}

/** Nobody waits longer for a list of models. */
const LIST_LIMIT_MS = 10_000;

/** Models behind any server that speaks Chat Completions: turns become requests, chunks become ModelEvents. */
export class ChatCompletionsProvider extends PushingProvider {
  private readonly client: UpstreamClient;
  private readonly logger = new Logger(ChatCompletionsProvider.name);

  constructor(
    private readonly options: ChatCompletionsOptions,
    private readonly dependencies: ChatCompletionsDependencies,
  ) {
    super();
    this.client = new UpstreamClient(options.address, dependencies.clock);
  }

  override async models(): Promise<readonly ModelInfo[]> {
    if (!this.options.discover) return [];
    const limit = new AbortController();
    const timer = this.dependencies.clock.schedule(LIST_LIMIT_MS, () => limit.abort(new Error('no answer')));
    try {
      return readModels(await this.client.getJson('/models', limit.signal), this.options.name);
    } catch (error) {
      throw new Error(reasonOf(error));
    } finally {
      timer.cancel();
    }
  }

  override async push(turn: Turn, sink: ModelSink): Promise<void> {
    const { body, tools } = toChatRequest(turn, this.options);
    const reader = this.createReader(turn, tools);
    try {
      const answer = await this.client.post('/chat/completions', JSON.stringify(body), sink.signal);
      if (answer.status < 200 || answer.status > 299) throw await this.refusal(answer);
      await readAnswer(answer, reader, sink, this.options.secrets);
    } catch (error) {
      sink.signal.throwIfAborted();
      // What breaks behind the model's last word breaks nothing any more.
      if (reader.finished === undefined) throw this.explain(error);
    }
    if (sink.isClosed) return;
    const { finished } = reader;
    if (finished === undefined) throw this.explain(new Error('the stream ended without a finish reason'));
    if (finished === 'error') throw this.explain(new Error("the model's server gave up"));
    await sink.write(reader.end(finished));
  }

  /** Only what is sent is read: tools that are offered, and reasoning where the server takes it back. */
  override async countTokens(turn: Turn): Promise<number> {
    const { tools } = new ToolTable(turn.settings.tools, turn.context);
    const offered = tools.map(({ definition }) => definition) as unknown as ResponseSettings['tools'];
    const settings = await countSettingsTokens({ ...turn.settings, tools: offered });
    return settings + (await this.countContextTokens(turn.context));
  }

  override countContextTokens(items: readonly Item[]): Promise<number> {
    const isRead = this.options.capabilities.reasoningReplay !== 'none';
    return countItemTokens(isRead ? items : items.filter(({ type }) => type !== 'reasoning'));
  }

  /** Closes its connections. */
  override destroy(): Promise<void> {
    return this.client.destroy();
  }

  private async refusal(answer: UpstreamAnswer): Promise<ModelError> {
    const retryAfterMs = readRetryAfter(answer.headers, this.dependencies.clock.now());
    const text = await readText(answer).catch(() => '');
    return toModelError(answer.status, readFailure(text), { secrets: this.options.secrets, retryAfterMs });
  }

  /** What went wrong, in words for the client; the cause is told our log. */
  private explain(error: unknown): ModelError {
    const explained = describe(error);
    if (explained.retry !== 'nowhere') {
      const { cause } = explained;
      this.logger.warn(`'${this.options.name}': ${cause === undefined ? explained.message : reasonOf(cause)}`);
    }
    return explained;
  }

  private createReader({ context, include }: Turn, tools: ToolTable): AnswerReader {
    const used = new Set(context.map(callIdOfCall).filter((id) => id !== undefined));
    const calls = new CallCollector(tools, used, () => this.dependencies.ids.next('call'));
    return new AnswerReader(calls, include.includes('reasoning.encrypted_content'));
  }
}

/** Connections break, and servers fall silent: both may be otherwise at the next attempt. */
function describe(cause: unknown): ModelError {
  if (cause instanceof ModelError) return cause;
  if (cause instanceof UpstreamTimeoutError) {
    return serverError('The model did not answer in time. Please retry your request.', cause, { retry: 'other' });
  }
  return serverError('The connection to the model broke. Please retry your request.', cause);
}
