import { afterAll } from '@jest/globals';

import { Clock, Random } from '../../../src/index.js';
import { ApiClient } from '../api-client.js';
import { PausingClock } from '../clocks.js';
import { ChosenRandom } from '../routing/chosen-random.js';
import { type ReloadingService, startWithProviders, useProvidersFile } from '../providers-file.js';
import { type Service, type ServiceOptions, SLOW_REFUSALS } from '../service.js';
import type { TurnResult } from '../transport.js';
import { SSE_TRANSPORT } from '../transports.js';
import { ResponsesUpstream } from './responses-upstream.js';
import type { UpstreamCall } from './upstream-connection.js';

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
  const { entry, models = DEFAULT_MODELS, ...rest } = options;
  const upstream = options.upstream ?? (await ResponsesUpstream.start());
  const provider = { kind: 'responses', base_url: upstream.baseUrl, api_key: UPSTREAM_KEY, ...entry };
  const end = async (): Promise<void> => {
    if (options.upstream === undefined) await upstream.close();
  };
  const service = await startWithProviders({ providers: { upstream: provider }, models }, rest, end);
  return { ...service, upstream, api: new ApiClient(service.baseURL) };
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

/** A service whose time stands still, but for pauses, which are over at once and remembered. Chance is always in the middle. */
export interface TimedService extends ResponsesService {
  readonly clock: PausingClock;
}

/** Starts the service in front of a fake upstream with a clock of the test. */
export async function startTimedService(options: ResponsesServiceOptions = {}): Promise<TimedService> {
  const clock = new PausingClock();
  const overrides = [[Clock, clock], [Random, new ChosenRandom()], ...(options.overrides ?? [])] as const;
  const service = await startResponsesService({ ...options, overrides });
  const close = async (): Promise<void> => {
    clock.letGo();
    await service.close();
  };
  return { ...service, clock, close, [Symbol.asyncDispose]: close };
}

/** As `shareResponsesService`, with a clock that all its tests see; none sees the pauses of the others. */
export function shareTimedService(): (options?: SharedServiceOptions) => Promise<TimedService> {
  const clock = new PausingClock();
  // Written before the hook that ends the service.
  afterAll(() => clock.letGo());
  const overrides = [
    [Clock, clock],
    [Random, new ChosenRandom()],
  ] as const;
  const within = useProvidersFile('providers.json', { environment: SLOW_REFUSALS, overrides });
  return async (options = {}) => {
    clock.take();
    return { ...(await startResponsesService({ ...options, within })), clock };
  };
}

/** A turn over SSE, with headers where needed. Rejects with Refusal when it is refused. */
export function ask(
  service: Service,
  body: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<TurnResult> {
  return SSE_TRANSPORT.run(service, { model: MODEL, input: 'Hi', ...body }, headers);
}

/** The transports of requests, in their order. */
export function transportsOf(calls: readonly UpstreamCall[]): readonly string[] {
  return calls.map(({ transport }) => transport);
}
