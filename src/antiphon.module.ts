import { type DynamicModule, Module } from '@nestjs/common';

import { AccessModule } from './access/index.js';
import type { AntiphonAsyncOptions, AntiphonOptions, AntiphonSeams } from './antiphon-options.js';
import { ConfigModule } from './config/index.js';
import { ConnectionsModule } from './connections/index.js';
import { ConversationsModule } from './resources/conversations/index.js';
import { DoorsModule } from './doors/index.js';
import { EmbeddingsModule } from './resources/embeddings/index.js';
import { FilesModule } from './files/index.js';
import { GraphModule } from './resources/graph/index.js';
import { HttpModule } from './http/index.js';
import { LimitsModule } from './access/quotas/index.js';
import { McpModule } from './tools/mcp/index.js';
import { MetricsModule } from './operations/metrics/index.js';
import { ModelsModule } from './resources/models/index.js';
import { OperationsModule } from './operations/index.js';
import { ProvidersModule } from './providers/index.js';
import { ResponsesModule } from './responses/index.js';
import { SeamsModule } from './seams.module.js';
import { SessionsModule } from './resources/sessions/index.js';
import { SiblingsModule } from './operations/siblings/index.js';
import { SocketTokensModule } from './access/socket-tokens/index.js';
import { TracingModule } from './operations/tracing/index.js';
import { UsageModule } from './resources/usage/index.js';
import { VectorStoresModule } from './files/vector-stores/index.js';
import { WebSearchModule } from './tools/web-search/index.js';
import { WebhooksModule } from './operations/webhooks/index.js';

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
