import {
  type CanActivate,
  Controller,
  Get,
  Injectable,
  NotFoundException,
  Param,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { ConsoleFiles } from './console-files.js';
import { ConsolePage } from './console-page.js';

/** Returns 404 where the console is off. */
@Injectable()
class ConsoleSwitch implements CanActivate {
  constructor(private readonly page: ConsolePage) {}

  canActivate(): boolean {
    if (this.page.isOn) return true;
    throw new NotFoundException();
  }
}

/** `/console` and its files. */
@Controller('console')
@UseGuards(ConsoleSwitch)
export class ConsoleController {
  constructor(
    private readonly console: ConsolePage,
    private readonly files: ConsoleFiles,
  ) {}

  @Get()
  page(@Req() { url }: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): string {
    return this.console.answer(reply, /^[^?]*\/(?:\?|$)/.test(url) ? '.' : './console');
  }

  @Get(':file')
  async file(@Param('file') name: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<Buffer> {
    const file = await this.files.read(name);
    if (file === undefined) throw new NotFoundException();
    void reply.type(file.type).headers({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' });
    return file.content;
  }
}
