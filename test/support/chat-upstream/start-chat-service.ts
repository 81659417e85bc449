import { type ProvidedService, type ReloadingService, startWithProviders } from '../providers-file.js';
import type { ServiceOptions } from '../service.js';
import type { TurnResult } from '../transport.js';
import { SSE_TRANSPORT } from '../transports.js';
import type { UpstreamProtocol } from '../upstream-server.js';
import type { ChatAnswers } from './chat-answer.js';
import { ChatUpstream } from './chat-upstream.js';
import type { Quirks } from './quirks.js';

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
  /** A service that several tests share: it loads the file, and has an environment and modules already. */
  readonly within?: ReloadingService;
}

/** The service in front of a fake upstream. */
export interface ChatService extends ProvidedService {
  readonly upstream: ChatUpstream;
}

/** Starts an upstream, writes a providers file whose provider `upstream` it is, and starts the service with that. */
export async function startChatService(options: ChatServiceOptions = {}): Promise<ChatService> {
  const { provider, models = DEFAULT_MODELS, providersBeside, protocol, ...rest } = options;
  const upstream = options.upstream ?? (await ChatUpstream.start(protocol));
  const providers = { upstream: { base_url: upstream.baseUrl, ...provider }, ...providersBeside };
  const end = async (): Promise<void> => {
    if (options.upstream === undefined) await upstream.close();
  };
  return { ...(await startWithProviders({ providers, models }, rest, end)), upstream };
}

const DEFAULT_MODELS = [{ name: MODEL, provider: 'upstream', model: 'upstream-model' }];

/** A turn over SSE whose upstream is told before what to answer. Rejects with Refusal when it is refused. */
export function runTurn(
  service: ChatService,
  answers: ChatAnswers,
  quirks: Quirks = {},
  members: object = {},
): Promise<TurnResult> {
  service.upstream.answer(answers, quirks);
  return sendTurn(service, members);
}

/** A turn over SSE. Rejects with Refusal when it is refused. */
export function sendTurn(service: ChatService, members: object = {}): Promise<TurnResult> {
  return SSE_TRANSPORT.run(service, { model: MODEL, input: 'Go on.', ...members });
}

/** The deltas of a kind, as they were streamed. */
export function deltasOf({ events = [] }: TurnResult, type: string): readonly unknown[] {
  return events.filter((event) => event.type === type).map((event) => event['delta']);
}
