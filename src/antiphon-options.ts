import type { ModuleMetadata } from '@nestjs/common';

import type { Authenticator } from './access/index.js';
import type { AsyncVariables, Variables } from './config/index.js';
import type { InjectedTools } from './tools/mcp/index.js';
import type { IdGenerator } from './protocol/index.js';
import type { ModelProviderBase, ProviderKind } from './providers/index.js';
import type { Admission, PassPolicy, TurnObserver } from './responses/index.js';
import type { Seam } from './seams/index.js';
import type { StateBackend } from './state/index.js';
import type { Clock } from './time/index.js';
import type { Reranker } from './files/vector-stores/index.js';
import type { WebSearchEngine } from './tools/web-search/index.js';

/**
 * The extension points of the service. Each takes a class, or `{ useClass }`, `{ useValue }`, `{ useFactory, inject }`
 * or `{ useExisting }`, which inject what `imports` export (docs/extending.md).
 */
export interface AntiphonSeams {
  /**
   * Modules that the seams inject from. Model providers, observers and pass policies among their providers are used as
   * well.
   */
  readonly imports?: NonNullable<ModuleMetadata['imports']>;

  /**
   * Model providers: classes marked `@ModelProvider`. Default: only those of `imports` and of PROVIDERS_FILE; the start
   * fails when there is no provider at all. Cost: that of the provider.
   */
  readonly providers?: readonly Seam<ModelProviderBase>[];

  /**
   * Kinds of providers for PROVIDERS_FILE, by the `kind` of an entry, in addition to `chat-completions` and `responses`. Use them for
   * providers that an operator configures. Cost: none after the file was read.
   */
  readonly providerKinds?: Readonly<Record<string, Seam<ProviderKind>>>;

  /**
   * Request headers that every provider receives in `turn.headers`, in addition to those that providers list in
   * `requestHeaders`. Default: none. Credentials and cookies are refused at start. Cost: a look-up per header and turn.
   */
  readonly forwardedHeaders?: readonly string[];

  /**
   * Maps the headers of a request to its tenant, synchronously or as a promise. Default: API_KEYS, or one tenant
   * without keys. Cost: called for every HTTP request, every upgrade and every turn or event on a socket, so cache
   * look-ups.
   */
  readonly authenticator?: Seam<Authenticator>;

  /**
   * Decides whether a turn may run now: quotas, rate limits, queues. Default: `LimitedAdmission`, up to MAX_RUNNING_TURNS at once
   * and the limits of docs/limits.md. Cost: one call per
   * turn; a synchronous one costs no promise.
   */
  readonly admission?: Seam<Admission>;

  /**
   * Observers of every turn: metering, traces, audit. Default: the debug log. Called in the order given, then those of
   * `imports`; never awaited. Cost: up to four calls per turn.
   */
  readonly observers?: readonly Seam<TurnObserver>[];

  /**
   * Receive each event of a model before the response does, and may start another pass: tools that the server runs,
   * filters. Called in the order given, then those of `imports`. Default: none. Cost: one call per turn, and one per
   * event of the turns that they take part in.
   */
  readonly passPolicies?: readonly Seam<PassPolicy>[];

  /**
   * Tools of the program, methods marked `@ServerTool`, that turns get though their requests do not name them. Default: none; requests name
   * a server by its label. Cost: the definitions of the tools are input of the model.
   */
  readonly injectedTools?: readonly InjectedTools[];

  /**
   * Engines that search the web, asked in the order given, before those of WEB_SEARCH; the first that answers counts. Default: none. Cost:
   * that of the engine.
   */
  readonly webSearchEngines?: readonly Seam<WebSearchEngine>[];

  /** Ranks once more what searches of vector stores have found. Default: none. Cost: that of the ranking, for each search. */
  readonly reranker?: Seam<Reranker>;

  /**
   * Further state backends, by the value of STATE that selects them, in addition to `memory`, `sqlite`, `postgres` and `redis`.
   * Only the selected one is created. Cost: every turn waits for its save.
   */
  readonly state?: Readonly<Record<string, Seam<StateBackend>>>;

  /**
   * Time and timers. Default: `SharedClock`, which follows the clock of PostgreSQL or Redis where these have the state, and is the system's
   * otherwise. Tests use a clock that they advance. Replicas with other clocks have to agree by themselves.
   */
  readonly clock?: Seam<Clock>;

  /** The ids of responses, items, requests and connections. Default: UUIDv7. They must be unique over all replicas. */
  readonly ids?: Seam<IdGenerator>;
}

/** The options of `AntiphonModule.forRoot` and `createApp`. */
export interface AntiphonOptions extends AntiphonSeams {
  /** Variables that override those of the process: those of Environment and those of imported modules. */
  readonly environment?: Variables;
}

/** The options of `AntiphonModule.forRootAsync`: variables are resolved at start, such as those of a secret store. */
export interface AntiphonAsyncOptions extends AntiphonSeams {
  /** Tokens that `useEnvironment` injects from `imports`. */
  readonly inject?: AsyncVariables['inject'];
  readonly useEnvironment: AsyncVariables['useFactory'];
}
