import { Logger } from '@nestjs/common';

import { OutageLog } from '../../logging/index.js';
import type { Clock } from '../../time/index.js';
import type { ModelInfo, ModelProviderBase } from '../model-provider.js';
import type { ModelSink } from '../model-sink.js';
import { PushingProvider } from '../pushing-provider.js';
import type { Random } from '../routing/index.js';
import { reasonOf } from '../scrub.js';
import type { Turn } from '../turn.js';
import { UpstreamClient } from '../upstream-http/index.js';
import { askUpstream, type Upstream } from './ask-upstream.js';
import { listModels } from './models/index.js';
import type { ResponsesOptions } from './options.js';
import { CONVERSATION_HEADERS } from './request/index.js';
import { Sessions } from './sessions.js';
import { Statistics } from './statistics.js';
import { SocketPool } from './transport/index.js';

/** Dependencies of ResponsesProvider. */
export interface ResponsesDependencies {
  readonly clock: Clock;
  readonly random: Random;
}

/** Timeout of `GET /models`, ms. */
const LIST_LIMIT_MS = 10_000;

/**
 * A provider for servers with the Responses API: OpenAI, Azure, vLLM, another Antiphon. Turns go over WebSockets or SSE, and output
 * items of any type reach the client as the upstream sends them (docs/upstreams.md).
 */
export class ResponsesProvider extends PushingProvider {
  /** The upstream runs hosted tools, or refuses them. */
  override readonly hostedTools: ModelProviderBase['hostedTools'] = 'all';
  override readonly requestHeaders = CONVERSATION_HEADERS;

  private readonly upstream: Upstream;

  constructor(
    private readonly options: ResponsesOptions,
    private readonly dependencies: ResponsesDependencies,
  ) {
    super();
    const { clock, random } = dependencies;
    const { address, websockets } = options;
    const logger = new Logger(ResponsesProvider.name);
    this.upstream = {
      options,
      client: new UpstreamClient(address, clock),
      sockets: websockets === null ? null : new SocketPool({ address, websockets, clock }),
      sessions: new Sessions(websockets?.healAfterMs ?? null),
      statistics: new Statistics(),
      clock,
      random,
      logger,
      outages: new OutageLog(logger, clock),
    };
  }

  override async models(): Promise<readonly ModelInfo[]> {
    const { discover, fixture, name } = this.options;
    if (!discover || fixture !== null) return [];
    const limit = new AbortController();
    const timer = this.dependencies.clock.schedule(LIST_LIMIT_MS, () => limit.abort(new Error('no answer')));
    try {
      return await listModels(this.upstream.client, name, limit.signal);
    } catch (error) {
      throw new Error(reasonOf(error));
    } finally {
      timer.cancel();
    }
  }

  override push(turn: Turn, sink: ModelSink): Promise<void> {
    return askUpstream(turn, sink, this.upstream);
  }

  /** What it has counted since it was created (docs/upstreams.md). */
  override statistics(): Readonly<Record<string, number>> {
    const { statistics, sockets } = this.upstream;
    return { ...statistics.counts, ...(sockets === null ? {} : { websockets_open: sockets.size }) };
  }

  /** Closes all connections. */
  override async destroy(): Promise<void> {
    await Promise.all([this.upstream.client.destroy(), this.upstream.sockets?.destroy()]);
  }
}
