import { writeFile } from 'node:fs/promises';

import { ProviderRegistry } from '../../../src/index.js';
import { ChatUpstream } from '../chat-upstream/chat-upstream.js';
import { type ProvidedService, type ReloadingService, startWithProviders } from '../providers-file.js';
import type { ServiceOptions } from '../service.js';

type Settings = Readonly<Record<string, unknown>>;

/** What a test decides about the service and the upstreams behind it. */
export interface RoutedServiceOptions extends ServiceOptions {
  /** The upstreams, each a provider of that name that discovers, with its settings in the file beyond `base_url`. */
  readonly upstreams: Readonly<Record<string, Settings>>;
  /** Settings of every upstream that does not say otherwise; no retries when absent. */
  readonly common?: Settings;
  /** The `models` of the file. */
  readonly models?: readonly object[];
  /** `attempts` of the file. */
  readonly attempts?: number;
  /** A service that several tests share: it loads the file, and has an environment and modules already. */
  readonly within?: ReloadingService;
  /** Called with the upstreams before the service starts. */
  readonly prepare?: (upstream: (name: string) => ChatUpstream) => void;
}

/** The service in front of several fake upstreams. */
export interface RoutedService extends ProvidedService {
  /** Each answers its own name unless it is told otherwise. */
  upstream(name: string): ChatUpstream;
  /** Names of the upstreams that were asked, once for each request, in the order in which they were started. */
  asked(): readonly string[];
  /** Forgets what was asked. */
  forget(): void;
  /** Writes the file anew: other models, and other settings for all upstreams or some. */
  write(content: {
    readonly models?: readonly object[];
    readonly settings?: Readonly<Record<string, Settings>>;
  }): Promise<void>;
  /** Reads the file again, as SIGHUP does; resolves when that is done. */
  reload(): Promise<void>;
}

/** Starts upstreams, writes a file that has them as providers, and starts the service with it. */
export async function startRoutedService(options: RoutedServiceOptions): Promise<RoutedService> {
  const { upstreams: settings, common = { retries: 0 }, models = [], attempts, prepare, ...rest } = options;
  const names = Object.keys(settings);
  const upstreams = new Map<string, ChatUpstream>();
  for (const name of names) upstreams.set(name, (await ChatUpstream.start()).always({ text: name }));
  const upstreamOf = (name: string): ChatUpstream => {
    const upstream = upstreams.get(name);
    if (upstream === undefined) throw new Error(`there is no upstream ${name}`);
    return upstream;
  };
  const contentOf = (wanted: Parameters<RoutedService['write']>[0]): object => {
    const providers = names.map((name) => [
      name,
      {
        base_url: upstreamOf(name).baseUrl,
        discover: true,
        ...common,
        ...(wanted.settings?.[name] ?? settings[name]),
      },
    ]);
    return { providers: Object.fromEntries(providers) as unknown, models: wanted.models ?? models, attempts };
  };
  // Before the upstreams are prepared: one may be closed then.
  const content = contentOf({});
  prepare?.(upstreamOf);
  const service = await startWithProviders(content, rest, () =>
    Promise.all([...upstreams.values()].map((upstream) => upstream.close())),
  );
  return {
    ...service,
    upstream: upstreamOf,
    asked: () => names.flatMap((name) => upstreamOf(name).requests.map(() => name)),
    forget: () => names.forEach((name) => void upstreamOf(name).requests.splice(0)),
    write: (wanted) => writeFile(service.providersFile, JSON.stringify(contentOf(wanted), null, 2)),
    reload: () => service.app.get(ProviderRegistry).reload(),
  };
}
