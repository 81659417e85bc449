import type { ModuleMetadata } from '@nestjs/common';

import type { Authenticator } from './access/index.js';
import type { AsyncVariables, Variables } from './config/index.js';
import type { IdGenerator } from './protocol/index.js';
import type { ModelProviderBase, ProviderKind } from './providers/index.js';
import type { Admission, PassPolicy, TurnObserver } from './responses/index.js';
import type { Seam } from './seams/index.js';
import type { StateBackend } from './state/index.js';
import type { Clock } from './time/index.js';

/**
 * What a program may replace or add. Each contract takes a class, or `{ useClass }`, `{ useValue }`, `{ useFactory, inject }` or
 * `{ useExisting }`, which inject what `imports` export (docs/extending.md).
 */
export interface AntiphonSeams {
  /** Modules that the seams inject from. Their own providers of models, observers and pass policies take part as well. */
  readonly imports?: NonNullable<ModuleMetadata['imports']>;

  /**
   * The providers of models, classes marked `@ModelProvider`. Default: none but those of `imports` and of PROVIDERS_FILE; the
   * start fails when there is no provider at all. Cost: what the provider costs.
   */
  readonly providers?: readonly Seam<ModelProviderBase>[];

  /**
   * Kinds of providers for PROVIDERS_FILE, by the name that an entry gives as its `kind`, beside `chat-completions`. Use them for
   * providers that an operator configures. Cost: none after the file was read.
   */
  readonly providerKinds?: Readonly<Record<string, Seam<ProviderKind>>>;

  /**
   * Request headers that every provider gets in `turn.headers`, beside those that providers name in `requestHeaders`. Default:
   * none, so that no header of a client leaves the service unnoticed. Credentials and cookies are refused at start. Cost: a
   * look-up per header and turn.
   */
  readonly forwardedHeaders?: readonly string[];

  /**
   * Names the tenant of a request by its headers; it may be asynchronous. Default: API_KEYS, or one tenant without keys. Cost: it
   * is called for every HTTP request, every upgrade and every turn or event on a socket, so cache what it looks up.
   */
  readonly authenticator?: Seam<Authenticator>;

  /**
   * Decides whether a turn may run now: quotas, rate limits, queues. Default: up to MAX_RUNNING_TURNS at once. Cost: one call per
   * turn; a synchronous one costs no promise.
   */
  readonly admission?: Seam<Admission>;

  /**
   * Hear of every turn: metering, traces, audit. Default: the debug log. They are called in the order given, then those of
   * `imports`, and never awaited. Cost: up to three calls per turn.
   */
  readonly observers?: readonly Seam<TurnObserver>[];

  /**
   * See each event of a model before the response does, and may ask the model again: tools that the server runs, filters. They
   * are asked in the order given, then those of `imports`. Default: none. Cost: one call per turn, and one per event for the
   * turns that they take part in.
   */
  readonly passPolicies?: readonly Seam<PassPolicy>[];

  /**
   * Further backends, by the value of STATE that selects them, beside `memory` and `postgres`. Only the selected one is made.
   * Cost: every turn waits for its save.
   */
  readonly state?: Readonly<Record<string, Seam<StateBackend>>>;

  /** The time and its timers. Default: the system's. Tests give a clock that they move. */
  readonly clock?: Seam<Clock>;

  /** The ids of responses, items, requests and connections. Default: UUIDv7. They must be unique over all replicas. */
  readonly ids?: Seam<IdGenerator>;
}

/** The options of `AntiphonModule.forRoot` and `createApp`. */
export interface AntiphonOptions extends AntiphonSeams {
  /** Variables that win over the process's own: those of the Environment, and of modules that are imported. */
  readonly environment?: Variables;
}

/** The same, with variables that are only known later, such as those of a secret store. */
export interface AntiphonAsyncOptions extends AntiphonSeams {
  /** What `useEnvironment` injects from `imports`. */
  readonly inject?: AsyncVariables['inject'];
  readonly useEnvironment: AsyncVariables['useFactory'];
}
