import { type DynamicModule, Module } from '@nestjs/common';

import { AccessModule } from './access/index.js';
import type { AntiphonAsyncOptions, AntiphonOptions, AntiphonSeams } from './antiphon-options.js';
import { ConfigModule } from './config/index.js';
import { ConnectionsModule } from './connections/index.js';
import { ConversationsModule } from './conversations/index.js';
import { DoorsModule } from './doors/index.js';
import { EmbeddingsModule } from './embeddings/index.js';
import { FilesModule } from './files/index.js';
import { GraphModule } from './graph/index.js';
import { HttpModule } from './http/index.js';
import { LimitsModule } from './limits/index.js';
import { McpModule } from './mcp/index.js';
import { MetricsModule } from './metrics/index.js';
import { ModelsModule } from './models/index.js';
import { OperationsModule } from './operations/index.js';
import { ProvidersModule } from './providers/index.js';
import { ResponsesModule } from './responses/index.js';
import { SeamsModule } from './seams.module.js';
import { SessionsModule } from './sessions/index.js';
import { SiblingsModule } from './siblings/index.js';
import { SocketTokensModule } from './socket-tokens/index.js';
import { TracingModule } from './tracing/index.js';
import { UsageModule } from './usage/index.js';
import { VectorStoresModule } from './vector-stores/index.js';
import { WebSearchModule } from './web-search/index.js';
import { WebhooksModule } from './webhooks/index.js';

/** The service as one module; docs/architecture.md shows its parts in the same order. */
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

  private static assemble(seams: AntiphonSeams, config: DynamicModule): DynamicModule {
    const service = [
      ResponsesModule,
      DoorsModule,
      ConversationsModule,
      FilesModule,
      SessionsModule,
      GraphModule,
      ConnectionsModule,
      ModelsModule,
      ProvidersModule,
      McpModule,
      WebSearchModule,
    ];
    return {
      module: AntiphonModule,
      global: true,
      imports: [
        config,
        SeamsModule.with(seams),
        AccessModule,
        LimitsModule,
        HttpModule,
        SiblingsModule,
        ...service,
        UsageModule,
        EmbeddingsModule,
        VectorStoresModule,
        WebhooksModule,
        SocketTokensModule,
        OperationsModule,
        MetricsModule,
        TracingModule,
      ],
      // Modules of the program may inject these, for example ResponsesService and ConnectionRegistry.
      exports: [ResponsesModule, ConnectionsModule],
    };
  }
}
