import { endingWith, type Service, type ServiceOptions, SLOW_REFUSALS, startService } from '../service.js';
import { writeTemporaryFile } from '../temporary-file.js';
import { ChatUpstream } from './chat-upstream.js';
import type { UpstreamProtocol } from '../upstream-server.js';

/** The model name that tests ask for when nothing else is said. */
export const MODEL = 'tested';

/** What a test decides about service and upstream. */
export interface ChatServiceOptions extends ServiceOptions {
  /** Settings of the provider in the providers file, such as `dialect` or `capabilities`. */
  readonly provider?: Readonly<Record<string, unknown>>;
  /** The `models` of the providers file; without them `tested` goes to the upstream's model `upstream-model`. */
  readonly models?: readonly object[];
  /** Further providers of the file, by name. */
  readonly providersBeside?: Readonly<Record<string, object>>;
  /** What the upstream speaks. */
  readonly protocol?: UpstreamProtocol;
  /** An upstream that is there already; the test closes it. */
  readonly upstream?: ChatUpstream;
}

/** The service in front of a fake upstream. */
export interface ChatService extends Service {
  readonly upstream: ChatUpstream;
  /** Path of the providers file, which may be written again. */
  readonly providersFile: string;
}

/** Starts an upstream, writes a providers file whose provider `upstream` it is, and starts the service with that. */
export async function startChatService(options: ChatServiceOptions = {}): Promise<ChatService> {
  const { provider, models = DEFAULT_MODELS, providersBeside, protocol, environment, ...rest } = options;
  const upstream = options.upstream ?? (await ChatUpstream.start(protocol));
  const providers = { upstream: { base_url: upstream.baseUrl, ...provider }, ...providersBeside };
  const file = await writeTemporaryFile('providers.json', { providers, models });
  const dispose = async (): Promise<void> => {
    if (options.upstream === undefined) await upstream.close();
    await file.remove();
  };
  try {
    const variables = { ...SLOW_REFUSALS, PROVIDERS_FILE: file.path, ...environment };
    const service = await startService({ ...rest, environment: variables });
    return endingWith({ ...service, upstream, providersFile: file.path }, dispose);
  } catch (error) {
    await dispose();
    throw error;
  }
}

const DEFAULT_MODELS = [{ name: MODEL, provider: 'upstream', model: 'upstream-model' }];
