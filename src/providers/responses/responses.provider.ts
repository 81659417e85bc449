import { Logger } from '@nestjs/common';

import { OutageLog } from '../../logging/index.js';
import type { Clock } from '../../time/index.js';
import { cannotEmbed, type EmbeddingRequest, type Embeddings } from '../embedding.js';
import { DEFAULT_EMBEDDING_BATCH, type ModelInfo, type ModelProviderBase } from '../model-provider.js';
import type { ModelSink } from '../model-sink.js';
import { PushingProvider } from '../pushing-provider.js';
import type { Random } from '../routing/random.js';
import type { CountOptions } from '../tokens/index.js';
import type { Turn } from '../turn.js';
import { CountRoute } from '../upstream-http/count-route.js';
import { EmbeddingRoute } from '../upstream-http/embedding-route.js';
import { UpstreamClient } from '../upstream-http/upstream-client.js';
import { ModelList } from '../upstream-models/model-list.js';
import { readModels } from '../upstream-models/read-models.js';
import { askUpstream } from './ask-upstream.js';
import { countAtUpstream } from './count-at-upstream.js';
import type { ResponsesOptions } from './options.js';
import { CONVERSATION_HEADERS } from './request/conversation.js';
import { Sessions } from './sessions.js';
import { Statistics } from './statistics.js';
import { SocketPool } from './transport/socket-pool.js';
import type { Upstream } from './upstream.js';

/** Dependencies of ResponsesProvider. */
export interface ResponsesDependencies {
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * A provider for servers with the Responses API: OpenAI, Azure, vLLM, another Antiphon. Turns go over WebSockets or SSE, and output
 * items of any type reach the client as the upstream sends them (docs/upstreams.md).
 */
export class ResponsesProvider extends PushingProvider {
  /** The upstream runs hosted tools, or refuses them. */
  override readonly hostedTools: ModelProviderBase['hostedTools'] = 'all';
  override readonly readsForeignSeals = true;
  override readonly requestHeaders = CONVERSATION_HEADERS;
  override readonly compactsContexts: boolean;
  override readonly embeddingBatch: number;

  private readonly upstream: Upstream;
  private readonly list: ModelList;
  private readonly embedding: EmbeddingRoute;

  constructor(
    private readonly options: ResponsesOptions,
    { clock, random }: ResponsesDependencies,
  ) {
    super();
    const { address, websockets } = options;
    this.compactsContexts = options.compactsUpstream;
    this.embeddingBatch = options.embeddingBatch ?? DEFAULT_EMBEDDING_BATCH;
    const logger = new Logger('ResponsesProvider');
    const client = new UpstreamClient(address, clock);
    this.upstream = {
      options,
      client,
      counting: new CountRoute(client, clock, '/responses/input_tokens'),
      sockets: websockets === null ? null : new SocketPool({ address, websockets, clock }),
      sessions: new Sessions(websockets?.healAfterMs ?? null),
      statistics: new Statistics(),
      clock,
      random,
      logger,
      outages: new OutageLog(logger, clock),
      toldForms: new Set(),
    };
    this.embedding = new EmbeddingRoute(client, clock, options);
    this.list = new ModelList(client, clock, {
      name: options.name,
      baseUrl: address.baseUrl,
      secrets: options.secrets,
    });
  }

  override async models(): Promise<readonly ModelInfo[]> {
    const { discover, fixture, name } = this.options;
    if (!discover || fixture !== null) return [];
    return readModels(await this.list.get(), name).map(({ info }) => info);
  }

  override push(turn: Turn, sink: ModelSink): Promise<void> {
    return askUpstream(turn, sink, this.upstream);
  }

  /** Asks the upstream for an exact count, if it has the route. */
  override async countTokens(turn: Turn, options: CountOptions = {}): Promise<number> {
    const asked = options.exact === true ? await countAtUpstream(turn, this.upstream, options.signal) : null;
    return asked ?? super.countTokens(turn, options);
  }

  override async embed(request: EmbeddingRequest, { signal }: { readonly signal: AbortSignal }): Promise<Embeddings> {
    // A fixture answers turns only.
    if (this.options.fixture !== null) throw cannotEmbed(request.model);
    return this.embedding.ask(request, signal);
  }

  /** What it has counted since it was created (docs/upstreams.md). */
  override statistics(): Readonly<Record<string, number>> {
    const { statistics, sockets } = this.upstream;
    return { ...statistics.counts, ...(sockets === null ? {} : { websockets_open: sockets.size }) };
  }

  /** HTTP connections close when they are idle. */
  override retire(): void {
    this.upstream.sockets?.retire();
  }

  /** Closes all connections. */
  override async destroy(): Promise<void> {
    await Promise.all([this.upstream.client.destroy(), this.upstream.sockets?.destroy()]);
  }
}
