import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';

import { Authenticator, EnvironmentAuthenticator } from './access/index.js';
import type { AntiphonSeams } from './antiphon-options.js';
import { libraryOf, selectBackend } from './backends.js';
import { Environment } from './config/index.js';
import { LimitedAdmission } from './access/quotas/index.js';
import { INJECTED_TOOLS } from './tools/mcp/index.js';
import { IdGenerator, UuidIdGenerator } from './protocol/index.js';
import { FORWARDED_HEADERS, PROVIDER_KINDS, PROVIDERS, type ProviderKind } from './providers/index.js';
import { Admission, OBSERVERS, PASS_POLICIES } from './responses/index.js';
import { makeSeam, provideSeam, provideSeams, type Seam } from './seams/index.js';
import { LibraryBackend, StateBackend, StateCallObserver } from './state/index.js';
import { Clock, LastWaits, SharedClock, sharedTimeOf } from './time/index.js';
import { Reranker } from './files/vector-stores/index.js';
import { WEB_SEARCH_ENGINES } from './tools/web-search/index.js';

/** Ids in the order of their creation on all replicas. */
const TIMED_IDS: Seam<IdGenerator> = {
  inject: [Clock],
  useFactory: (clock: Clock) => new UuidIdGenerator(sharedTimeOf(clock)),
};

/** Registers the extension points as Nest providers, with their defaults. */
@Module({})
export class SeamsModule {
  static with(seams: AntiphonSeams): DynamicModule {
    const { imports = [], providerKinds = {}, forwardedHeaders = [], injectedTools = [] } = seams;
    const providers: readonly Provider[] = [
      provideSeam(Clock, seams.clock ?? SharedClock),
      LastWaits,
      provideSeam(IdGenerator, seams.ids ?? TIMED_IDS),
      provideSeam(Authenticator, seams.authenticator ?? EnvironmentAuthenticator),
      provideSeam(Admission, seams.admission ?? LimitedAdmission),
      {
        provide: StateBackend,
        inject: [Environment, ModuleRef],
        // Created on selection: other backends must not be instantiated.
        useFactory: ({ STATE }: Environment, modules: ModuleRef) =>
          makeSeam(selectBackend(STATE, seams.state), modules),
      },
      {
        provide: LibraryBackend,
        inject: [StateBackend, Environment, Clock, { token: StateCallObserver, optional: true }],
        useFactory: libraryOf,
      },
      ...provideSeams(PROVIDERS, seams.providers ?? []),
      ...provideTable(PROVIDER_KINDS, providerKinds),
      ...provideSeams(OBSERVERS, seams.observers ?? []),
      ...provideSeams(PASS_POLICIES, seams.passPolicies ?? []),
      ...provideSeams(WEB_SEARCH_ENGINES, seams.webSearchEngines ?? []),
      seams.reranker === undefined ? { provide: Reranker, useValue: null } : provideSeam(Reranker, seams.reranker),
      { provide: FORWARDED_HEADERS, useValue: forwardedHeaders },
      { provide: INJECTED_TOOLS, useValue: injectedTools },
    ];
    return {
      module: SeamsModule,
      global: true,
      imports: [...imports],
      providers: [...providers],
      exports: [
        ...[Clock, LastWaits, IdGenerator, Authenticator, Admission, StateBackend, LibraryBackend],
        ...[PROVIDERS, PROVIDER_KINDS, OBSERVERS, PASS_POLICIES, FORWARDED_HEADERS, INJECTED_TOOLS],
        ...[WEB_SEARCH_ENGINES, Reranker],
      ],
    };
  }
}

/** A map of provider kinds by name, under a token. */
function provideTable(token: string, table: Readonly<Record<string, Seam<ProviderKind>>>): readonly Provider[] {
  const list = `${token} in order`;
  const names = Object.keys(table);
  return [
    ...provideSeams(list, Object.values(table)),
    {
      provide: token,
      inject: [list],
      useFactory: (kinds: readonly ProviderKind[]) => new Map(names.map((name, index) => [name, kinds[index]])),
    },
  ];
}
