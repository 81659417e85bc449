import { Logger } from '@nestjs/common';

import { OutageLog } from '../../logging/index.js';
import type { IdGenerator, Item, ResponseSettings } from '../../protocol/index.js';
import type { Clock, Timer } from '../../time/index.js';
import type { EmbeddingRequest, Embeddings } from '../embedding.js';
import { ModelError } from '../model-error.js';
import type { FinishReason } from '../model-event.js';
import { DEFAULT_EMBEDDING_BATCH, type ModelInfo } from '../model-provider.js';
import type { ModelSink } from '../model-sink.js';
import { PushingProvider } from '../pushing-provider.js';
import { reasonOf } from '../scrub.js';
import { countItemTokens, type CountOptions } from '../tokens/index.js';
import { traceHeaders, type Turn } from '../turn.js';
import { CountRefusedError } from '../upstream-http/count-route.js';
import { EmbeddingRoute } from '../upstream-http/embedding-route.js';
import { readText } from '../upstream-http/read-text.js';
import { type UpstreamAddress, UpstreamClient } from '../upstream-http/upstream-client.js';
import type { UpstreamAnswer } from '../upstream-http/upstream-answer.js';
import { notUnderstood, toExchangeError } from '../upstream-http/exchange-error.js';
import { UpstreamTimeoutError } from '../upstream-http/exchange-timer.js';
import { ChunkReader } from './answer/chunk-reader.js';
import { CallCollector } from './answer/call-collector.js';
import { readAnswer } from './answer/read-answer.js';
import type { Capabilities } from './capabilities.js';
import { TokenRoute } from './token-route.js';
import { readFailure } from '../upstream-errors/error-body.js';
import { readRetryAfter } from '../upstream-errors/retry-after.js';
import { toModelError } from '../upstream-errors/to-model-error.js';
import { ModelLister } from './model-lister.js';
import { OpaqueCollector } from './opaque/opaque-collector.js';
import { remedyOf } from './request/remedies.js';
import { type AnswerForm, toChatRequest } from './request/to-chat-request.js';
import { reasoningOf } from './request/to-messages.js';
import { callIdOfCall } from './tools/history-calls.js';
import { ToolTable } from './tools/tool-table.js';

/** Between two signs of life while a whole answer is waited for, ms. */
const SIGN_OF_LIFE_MS = 1000;

/** Forms that are not understood, of which the log speaks. */
const MOST_TOLD_FORMS = 16;

/** Statuses of servers that refuse a request for what it is. */
const REFUSALS: ReadonlySet<number> = new Set([400, 405, 422, 501]);

/** Statuses of servers that may refuse what an entry can leave out or write otherwise; templates of chats fail with 500. */
const HELPED: ReadonlySet<number> = new Set([400, 415, 422, 500, 501]);

/** Statuses of proxies that have waited too long for an answer. */
const GAVE_UP: ReadonlySet<number> = new Set([408, 504, 524]);

/** A Chat Completions server. */
export interface ChatCompletionsOptions {
  /** Name of the provider, for `owned_by` and the log. */
  readonly name: string;
  readonly address: UpstreamAddress;
  readonly capabilities: Capabilities;
  /** Capabilities that were configured; what the server lists of its models does not change them. */
  readonly configured: ReadonlySet<keyof Capabilities>;
  /** Names of tags, such as `think`, between which the content of an answer is reasoning. */
  readonly reasoningTags: readonly string[];
  /** Whether to list models with `GET /models`. */
  readonly discover: boolean;
  /** Most inputs of one request for embeddings; absent: the default of providers. */
  readonly embeddingBatch?: number;
  /** Request members that are forwarded unchanged. */
  readonly forward: readonly string[];
  /** Request members that are not sent. */
  readonly omit: ReadonlySet<string>;
  /** Time for an answer that is asked for without `stream`, ms. */
  readonly wholeMs: number;
  /** Values that are redacted from error messages. */
  readonly secrets: readonly string[];
}

/** Dependencies of ChatCompletionsProvider. */
export interface ChatCompletionsDependencies {
  readonly clock: Clock;
  readonly ids: IdGenerator;
}

/** A provider for Chat Completions servers: translates turns into requests and chunks into ModelEvents. */
export class ChatCompletionsProvider extends PushingProvider {
  /** Chat Completions knows only functions. */
  override readonly hostedTools = [];
  override readonly isSteerable = true;
  override readonly takesOpaqueData = true;
  override readonly hasTokenizer: boolean;
  override readonly takesFiles: boolean;
  override readonly takesFileUrls = false;
  override readonly embeddingBatch: number;

  private readonly client: UpstreamClient;
  private readonly lister: ModelLister;
  private readonly counting: TokenRoute | null;
  private readonly embedding: EmbeddingRoute;
  /** Whether a whole answer was refused, or did not come in time. */
  private mustStream = false;
  private readonly logger = new Logger('ChatCompletionsProvider');
  private readonly outages = new OutageLog(this.logger);
  /** Whether the log says that images cannot be shown. */
  private hasHiddenImage = false;
  /** The forms of which the log says that they are not understood. */
  private readonly toldForms = new Set<string>();

  constructor(
    private readonly options: ChatCompletionsOptions,
    private readonly dependencies: ChatCompletionsDependencies,
  ) {
    super();
    this.client = new UpstreamClient(options.address, dependencies.clock);
    const { address, capabilities } = options;
    this.counting = TokenRoute.of(capabilities.tokenCount, this.client, dependencies.clock, address.baseUrl);
    this.takesFiles = capabilities.files;
    this.hasTokenizer = this.counting !== null;
    this.embeddingBatch = options.embeddingBatch ?? DEFAULT_EMBEDDING_BATCH;
    this.embedding = new EmbeddingRoute(this.client, dependencies.clock, options);
    this.lister = new ModelLister(this.client, dependencies.clock, { ...options, baseUrl: options.address.baseUrl });
  }

  override async models(): Promise<readonly ModelInfo[]> {
    return this.options.discover ? this.lister.list() : [];
  }

  override seesImages(model: string): boolean {
    return this.lister.capabilitiesOf(model).images;
  }

  override async push(turn: Turn, sink: ModelSink): Promise<void> {
    const capabilities = this.lister.capabilitiesOf(turn.settings.model);
    const form = this.chooseForm(turn, capabilities, sink);
    if (await this.ask(turn, sink, capabilities, form)) return;
    this.streamFromNowOn('the server refuses requests without `stream`');
    await this.ask(turn, sink, capabilities, 'stream');
  }

  /** Asks for an answer and writes it; false if the server gives it only as a stream. */
  private async ask(turn: Turn, sink: ModelSink, capabilities: Capabilities, form: AnswerForm): Promise<boolean> {
    const { body, tools } = toChatRequest(turn, capabilities, this.options, form);
    const reader = this.createReader(turn, tools, capabilities);
    const alive = form === 'whole' ? this.keepAlive(sink) : null;
    try {
      const answer = await this.client.post('/chat/completions', JSON.stringify(body), sink.signal, {
        headers: traceHeaders(turn),
        ...(form === 'whole' ? { totalMs: this.options.wholeMs } : {}),
      });
      if (answer.status < 200 || answer.status > 299) {
        const refusal = await this.refusal(answer, capabilities, body);
        if (form === 'whole' && isAboutStreams(answer, refusal)) return false;
        if (form === 'whole' && GAVE_UP.has(answer.status)) {
          this.streamFromNowOn(`a proxy before the server gave up waiting (HTTP ${answer.status})`);
        }
        throw refusal;
      }
      await readAnswer(answer, reader, sink, this.options.secrets);
    } catch (error) {
      sink.signal.throwIfAborted();
      if (form === 'whole' && error instanceof UpstreamTimeoutError) this.streamFromNowOn(error.message);
      // Errors after the end are ignored.
      if (!reader.isOver) throw this.explain(error);
    } finally {
      alive?.cancel();
    }
    if (reader.hidesImage) this.tellOfImage();
    if (sink.isClosed) return true;
    const { finished } = reader;
    if (finished === undefined) throw this.explain(unfinished(reader));
    if (finished === 'error') throw this.explain(new Error("the model's server reported an error"));
    if (finished === 'stop' && reader.lacksCall)
      throw this.explain(new Error('the model called a tool, and did not say which'));
    this.judgeUnread(reader, finished);
    await sink.write(reader.end(finished));
    return true;
  }

  /** Asks the server for an exact count, if it can. Else counts only what is sent: offered tools, and reasoning if the server accepts it. */
  override async countTokens(turn: Turn, options: CountOptions = {}): Promise<number> {
    const asked = options.exact === true ? await this.countAtServer(turn, options.signal) : null;
    if (asked !== null) return asked;
    const { tools } = new ToolTable(turn.settings.tools, turn.context);
    const offered = tools.map(({ definition }) => definition) as unknown as ResponseSettings['tools'];
    const { context } = turn;
    return super.countTokens({ ...turn, context, settings: { ...turn.settings, tools: offered } }, options);
  }

  override countContextTokens(items: readonly Item[], options?: CountOptions): Promise<number> {
    const isRead = this.options.capabilities.reasoningReplay !== 'none';
    return countItemTokens(
      items.filter((item) => item.type !== 'reasoning' || (isRead && reasoningOf(item) !== '')),
      options,
    );
  }

  override embed(request: EmbeddingRequest, { signal }: { readonly signal: AbortSignal }): Promise<Embeddings> {
    return this.embedding.ask(request, signal);
  }

  /** Closes all connections. */
  override destroy(): Promise<void> {
    return this.client.destroy();
  }

  private chooseForm({ settings }: Turn, { wholeAnswers }: Capabilities, sink: ModelSink): AnswerForm {
    if (sink.isReadAtEnd !== true || this.mustStream || wholeAnswers === 'never') return 'stream';
    return wholeAnswers === 'always' || settings.max_output_tokens != null ? 'whole' : 'stream';
  }

  /** After a whole answer did not come: a stream shows that a model is at work, and its silence is noticed early. */
  private streamFromNowOn(reason: string): void {
    if (this.mustStream) return;
    this.mustStream = true;
    this.logger.warn(`'${this.options.name}' is asked for streams only until the next start: ${reason}`);
  }

  /** An answer that comes at once has a limit of its own: until then the model does not count as silent. */
  private keepAlive(sink: ModelSink): Timer {
    const timer = this.dependencies.clock.schedule(SIGN_OF_LIFE_MS, () => {
      void sink.write([]);
      timer.refresh();
    });
    return timer;
  }

  /** The server's count of a turn; null if it does not count such turns. */
  private async countAtServer(turn: Turn, signal: AbortSignal | undefined): Promise<number | null> {
    const { counting, options } = this;
    if (counting === null) return null;
    const { body } = toChatRequest(turn, this.lister.capabilitiesOf(turn.settings.model), options);
    try {
      return await counting.ask(body, signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw this.explain(error instanceof CountRefusedError ? this.toRefusal(error, error.text) : error);
    }
  }

  /** The error for a refused request; it names what of the entry would avoid it. */
  private async refusal(answer: UpstreamAnswer, capabilities: Capabilities, body: object): Promise<ModelError> {
    const text = await readText(answer).catch(() => '');
    const error = this.toRefusal(answer, text);
    const isHelped = HELPED.has(answer.status) && error.code !== 'context_length_exceeded';
    const remedy = isHelped ? remedyOf(readFailure(text), capabilities, { ...body }) : undefined;
    if (remedy === undefined) return error;
    const message = `${error.message} The provider's entry avoids this with \`${remedy}\`.`;
    return new ModelError(error.code, message, error.options);
  }

  private toRefusal({ status, headers }: Pick<UpstreamAnswer, 'status' | 'headers'>, text: string): ModelError {
    const retryAfterMs = readRetryAfter(headers, this.dependencies.clock.now());
    return toModelError(status, readFailure(text), { secrets: this.options.secrets, retryAfterMs });
  }

  /** Throws ModelError if the answer has nothing but what is not read; else the log says what is left out. */
  private judgeUnread({ unread, hasAnswered }: ChunkReader, finished: FinishReason): void {
    if (unread === undefined) return;
    if (finished === 'stop' && !hasAnswered) throw this.explain(notUnderstood(unread));
    if (this.toldForms.has(unread) || this.toldForms.size >= MOST_TOLD_FORMS) return;
    this.toldForms.add(unread);
    this.logger.warn(`'${this.options.name}' answers with ${unread}, which is left out: it is not understood`);
  }

  private tellOfImage(): void {
    if (this.hasHiddenImage) return;
    this.hasHiddenImage = true;
    const what = 'answers with images by their addresses, which are left out: an item holds only the data of an image';
    this.logger.warn(`'${this.options.name}' ${what}`);
  }

  /** The error for the client; logs its cause. */
  private explain(error: unknown): ModelError {
    const explained = toExchangeError(error);
    if (explained.retry !== 'nowhere') {
      const { cause } = explained;
      this.outages.warn(
        'an upstream failed',
        `'${this.options.name}': ${cause === undefined ? explained.message : reasonOf(cause, this.options.secrets)}`,
      );
    }
    return explained;
  }

  private createReader({ context, settings }: Turn, tools: ToolTable, { malformedCalls }: Capabilities): ChunkReader {
    const used = new Set(context.map(callIdOfCall).filter((id) => id !== undefined));
    const calls = new CallCollector(tools, used, () => this.dependencies.ids.next('call'), malformedCalls === 'pass');
    const { name: provider, reasoningTags } = this.options;
    return new ChunkReader(calls, new OpaqueCollector({ provider, model: settings.model }), reasoningTags);
  }
}

/** Why an answer without an end is none. */
function unfinished({ unread, hasAnswered }: ChunkReader): Error {
  if (unread !== undefined && !hasAnswered) return notUnderstood(unread);
  return new Error('the stream ended without a finish reason');
}

/** Whether a server refuses to answer without `stream`: some models only stream. */
function isAboutStreams({ status }: UpstreamAnswer, { message }: ModelError): boolean {
  return REFUSALS.has(status) && /\bstream/i.test(message);
}
