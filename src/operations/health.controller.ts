import { Controller, Get, Logger, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { type McpServerCondition, McpServers } from '../tools/mcp/index.js';
import { type ProviderCondition, ProviderRegistry } from '../providers/index.js';
import { OutageLog } from '../logging/index.js';
import { type BucketCondition, inOneLine, LibraryBackend, ResponseStore } from '../state/index.js';
import { type EngineCondition, WebSearch } from '../tools/web-search/index.js';
import { Readiness } from './readiness.js';

/** The body of both health routes, which need no authentication. */
export interface HealthBody {
  readonly status: 'ok' | 'ready' | 'leaving' | 'unavailable';
  /** With `?verbose`. */
  readonly providers?: readonly ProviderCondition[];
  /** With `?verbose`, where there are some. */
  readonly mcp_servers?: readonly McpServerCondition[];
  /** With `?verbose`, where there are some. */
  readonly search_engines?: readonly EngineCondition[];
  /** With `?verbose`, where there is one. */
  readonly object_storage?: BucketCondition;
}

/** `/healthz` reports that the process is running; `/readyz` reports whether the instance accepts traffic. */
@Controller()
export class HealthController {
  private readonly outages = new OutageLog(new Logger('State'));

  constructor(
    private readonly readiness: Readiness,
    private readonly store: ResponseStore,
    private readonly providers: ProviderRegistry,
    private readonly mcp: McpServers,
    private readonly web: WebSearch,
    private readonly library: LibraryBackend,
  ) {}

  @Get('healthz')
  health(): HealthBody {
    return { status: 'ok' };
  }

  /**
   * `?verbose` adds the conditions of the providers, of MCP servers, of search engines and of the bucket of files. They never decide the status: while one is down the others answer, and a
   * load balancer that took all replicas out would only hide which error it is.
   */
  @Get('readyz')
  async ready(
    @Query('verbose') verbose: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<HealthBody> {
    const status = await this.status();
    if (status !== 'ready') void reply.status(503);
    if (!isWanted(verbose)) return { status };
    const servers = this.mcp.conditions();
    const engines = this.web.conditions();
    const providers = await this.providers.conditions();
    return {
      status,
      providers,
      ...(servers.length === 0 ? {} : { mcp_servers: servers }),
      ...(engines.length === 0 ? {} : { search_engines: engines }),
      ...(this.library.bucket === undefined ? {} : { object_storage: this.library.bucket.condition }),
    };
  }

  private async status(): Promise<HealthBody['status']> {
    if (this.readiness.isLeaving) return 'leaving';
    try {
      await this.store.check();
      return 'ready';
    } catch (error) {
      this.outages.warn('the state is not available', inOneLine(error));
      return 'unavailable';
    }
  }
}

/** `?verbose` and `?verbose=1`, but not `?verbose=false`. */
function isWanted(verbose: unknown): boolean {
  return verbose !== undefined && verbose !== '0' && verbose !== 'false';
}
