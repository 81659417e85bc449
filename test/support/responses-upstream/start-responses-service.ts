import { ApiClient } from '../api-client.js';
import { type ReloadingService, useProvidersFile } from '../routing/start-fault.js';
import { endingWith, type Service, type ServiceOptions, SLOW_REFUSALS, startService } from '../service.js';
import { writeTemporaryFile } from '../temporary-file.js';
import { ResponsesUpstream } from './responses-upstream.js';

/** The model name that tests ask for when nothing else is said. */
export const MODEL = 'tested';

/** The key of the upstream, which nobody else may see. */
export const UPSTREAM_KEY = 'sk-key-of-the-upstream-1234';

/** What a test decides about service and upstream. */
export interface ResponsesServiceOptions extends ServiceOptions {
  /** Members of the provider in the providers file, such as `supports_websockets`. */
  readonly entry?: Readonly<Record<string, unknown>>;
  /** The `models` of the providers file; without them `tested` goes to the upstream's model `upstream-model`. */
  readonly models?: readonly object[];
  /** A service that several tests share: it loads the file, and has an environment and modules already. */
  readonly within?: ReloadingService;
  /** An upstream that is there already; the test closes it. */
  readonly upstream?: ResponsesUpstream;
}

/** The service in front of a fake upstream with the Responses API. */
export interface ResponsesService extends Service {
  readonly upstream: ResponsesUpstream;
  /** A bare HTTP client of the service. */
  readonly api: ApiClient;
}

/** Starts an upstream, writes a providers file whose provider `upstream` it is, and starts the service with that. */
export async function startResponsesService(options: ResponsesServiceOptions = {}): Promise<ResponsesService> {
  const { entry, models = DEFAULT_MODELS, within, environment, ...rest } = options;
  const upstream = options.upstream ?? (await ResponsesUpstream.start());
  const provider = { kind: 'responses', base_url: upstream.baseUrl, api_key: UPSTREAM_KEY, ...entry };
  const content = { providers: { upstream: provider }, models };
  const file = await writeTemporaryFile('providers.json', content);
  const dispose = async (): Promise<void> => {
    if (options.upstream === undefined) await upstream.close();
    await file.remove();
  };
  try {
    const variables = { ...SLOW_REFUSALS, PROVIDERS_FILE: file.path, ...environment };
    const service = await (within?.open(content) ?? startService({ ...rest, environment: variables }));
    return endingWith({ ...service, upstream, api: new ApiClient(service.baseURL) }, dispose);
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** What a test decides that shares its service with others. */
export type SharedServiceOptions = Pick<ResponsesServiceOptions, 'entry' | 'models' | 'upstream'>;

/**
 * For a file whose tests share one service: what it returns has the service load an upstream of the test's own, in a fifth of the CPU of a start. Closed, it
 * has none again.
 */
export function shareResponsesService(): (options?: SharedServiceOptions) => Promise<ResponsesService> {
  const within = useProvidersFile('providers.json', { environment: SLOW_REFUSALS });
  return (options = {}) => startResponsesService({ ...options, within });
}

const DEFAULT_MODELS = [{ name: MODEL, provider: 'upstream', model: 'upstream-model' }];
