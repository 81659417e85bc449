import { type DynamicModule, Module, type ModuleMetadata, type Type } from '@nestjs/common';

import { AccessModule } from './access/index.js';
import { type AsyncVariables, ConfigModule, type Variables } from './config/index.js';
import { ConnectionsModule } from './connections/index.js';
import { GraphModule } from './graph/index.js';
import { HttpModule } from './http/index.js';
import { ModelsModule } from './models/index.js';
import { OperationsModule } from './operations/index.js';
import { IdGenerator, UuidIdGenerator } from './protocol/index.js';
import { type ModelProviderBase, ProvidersModule } from './providers/index.js';
import { ResponsesModule } from './responses/index.js';
import { SessionsModule } from './sessions/index.js';
import { TimeModule } from './time/index.js';

/** What an embedding program chooses. Everything else is a contract behind a DI token, to be overridden. */
export interface AntiphonOptions {
  /** Variables that win over the process's own, by the names of the Environment. */
  readonly environment?: Variables;
  /** Classes marked `@ModelProvider`. A service without any, here or in `imports`, and without PROVIDERS_FILE does not start. */
  readonly providers?: readonly Type<ModelProviderBase>[];
  /** Modules that the providers inject from, or that bring providers, such as SimulatorModule. */
  readonly imports?: NonNullable<ModuleMetadata['imports']>;
}

/** The same, with variables that are only known later, such as those of a secret store. */
export interface AntiphonAsyncOptions extends Omit<AntiphonOptions, 'environment'> {
  readonly inject?: AsyncVariables['inject'];
  readonly useEnvironment: AsyncVariables['useFactory'];
}

/** The whole service as one module, in the order of the picture in docs/architecture.md. */
@Module({})
export class AntiphonModule {
  static forRoot(options: AntiphonOptions = {}): DynamicModule {
    return this.assemble(options, ConfigModule.forRoot(options.environment));
  }

  /** `useEnvironment` may inject what `imports` export. */
  static forRootAsync(options: AntiphonAsyncOptions): DynamicModule {
    return this.assemble(
      options,
      ConfigModule.forRootAsync({
        imports: [...(options.imports ?? [])],
        inject: [...(options.inject ?? [])],
        useFactory: options.useEnvironment,
      }),
    );
  }

  private static assemble({ providers, imports }: AntiphonOptions, config: DynamicModule): DynamicModule {
    return {
      module: AntiphonModule,
      global: true,
      imports: [
        config,
        TimeModule,
        AccessModule,
        HttpModule,
        ResponsesModule,
        SessionsModule,
        GraphModule,
        ConnectionsModule,
        ModelsModule,
        ProvidersModule.with(providers ?? [], imports),
        OperationsModule,
      ],
      providers: [{ provide: IdGenerator, useClass: UuidIdGenerator }],
      exports: [IdGenerator],
    };
  }
}
