import type { IdGenerator } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import type { ModelInfo } from '../model-provider.js';
import type { ModelSink } from '../model-sink.js';
import { PushingProvider } from '../pushing-provider.js';
import type { Random } from '../routing/random.js';
import type { Turn } from '../turn.js';
import { UpstreamClient } from '../upstream-http/index.js';
import { ModelList, readModels } from '../upstream-models/index.js';
import type { ResponsesOptions } from './options.js';
import { CONVERSATION_HEADERS } from './request/index.js';

/** Dependencies of ResponsesProvider. */
export interface ResponsesDependencies {
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly random: Random;
}

/** A provider for servers with the Responses API. */
export class ResponsesProvider extends PushingProvider {
  override readonly requestHeaders = CONVERSATION_HEADERS;

  private readonly client: UpstreamClient;
  private readonly list: ModelList;

  constructor(
    private readonly options: ResponsesOptions,
    { clock }: ResponsesDependencies,
  ) {
    super();
    const { address, name } = options;
    this.client = new UpstreamClient(address, clock);
    this.list = new ModelList(this.client, clock, { name, baseUrl: address.baseUrl });
  }

  override async models(): Promise<readonly ModelInfo[]> {
    const { discover, fixture, name } = this.options;
    if (!discover || fixture !== null) return [];
    return readModels(await this.list.get(), name).map(({ info }) => info);
  }

  override async push(_turn: Turn, _sink: ModelSink): Promise<void> {
    throw new Error('not merged yet');
  }

  override destroy(): Promise<void> {
    return this.client.destroy();
  }
}
