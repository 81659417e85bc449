import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { ResponseStore } from '../state/index.js';
import { Readiness } from './readiness.js';

/** The body of both health routes, which need no authentication. */
export interface HealthBody {
  readonly status: 'ok' | 'ready' | 'leaving' | 'unavailable';
}

/** `/healthz` reports that the process is running; `/readyz` reports whether the instance accepts traffic. */
@Controller()
export class HealthController {
  constructor(
    private readonly readiness: Readiness,
    private readonly store: ResponseStore,
  ) {}

  @Get('healthz')
  health(): HealthBody {
    return { status: 'ok' };
  }

  @Get('readyz')
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<HealthBody> {
    const status = await this.status();
    if (status !== 'ready') void reply.status(503);
    return { status };
  }

  private async status(): Promise<HealthBody['status']> {
    if (this.readiness.isLeaving) return 'leaving';
    try {
      await this.store.check();
      return 'ready';
    } catch {
      return 'unavailable';
    }
  }
}
