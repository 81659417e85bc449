import {
  type CanActivate,
  Controller,
  Get,
  Header,
  Injectable,
  NotFoundException,
  Param,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { Environment } from '../../config/index.js';
import { answerAsApplication } from '../html.js';
import { ApiDocuments } from './api-documents.js';
import { readPageFile, writePage } from './docs-page.js';

const JSON_TYPE = 'application/json; charset=utf-8';

/** Returns 404 with API_DOCS=false. */
@Injectable()
class ApiDocsSwitch implements CanActivate {
  constructor(private readonly environment: Environment) {}

  canActivate(): boolean {
    if (this.environment.API_DOCS) return true;
    throw new NotFoundException();
  }
}

/** `/openapi.json`, `/asyncapi.json` and the page `/docs`. They need no authentication: they say nothing about a tenant. */
@Controller()
@UseGuards(ApiDocsSwitch)
export class ApiDocsController {
  constructor(private readonly documents: ApiDocuments) {}

  @Get('openapi.json')
  @Header('content-type', JSON_TYPE)
  @Header('cache-control', 'no-cache')
  openapi(): Promise<string> {
    return this.documents.openapi();
  }

  @Get('asyncapi.json')
  @Header('content-type', JSON_TYPE)
  @Header('cache-control', 'no-cache')
  asyncapi(): Promise<string> {
    return this.documents.asyncapi();
  }

  @Get('docs')
  page(@Req() { url }: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): string {
    const page = writePage(/^[^?]*\/(?:\?|$)/.test(url) ? '.' : './docs');
    answerAsApplication(reply);
    return page;
  }

  @Get('docs/:file')
  async file(@Param('file') name: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<string | Buffer> {
    const file = await readPageFile(name);
    if (file === undefined) throw new NotFoundException();
    // Not for long, because their addresses do not change with the version.
    void reply.type(file.type).headers({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' });
    return file.content;
  }
}
