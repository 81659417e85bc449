import { Controller, Get } from '@nestjs/common';
import { RouteSchema } from '@nestjs/platform-fastify';
import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { startService } from '../support/service.js';

@Controller('teams')
class TeamsController {
  @Get()
  @RouteSchema({
    headers: { type: 'object', required: ['X-Team'], properties: { 'X-Team': { type: 'string', minLength: 2 } } },
    response: { 200: { type: 'object', properties: { name: { type: 'string' } } } },
  })
  read(): object {
    return { name: 'red', secret: 'left out' };
  }
}

describe('a route of a program with schemas for Fastify', () => {
  it.each([
    ['answers what its schema of the answer has', { 'x-team': 'red' }, 200, { name: 'red' }],
    ['refuses a header that its schema does not allow', { 'x-team': 'r' }, 400, undefined],
    ['refuses a request without a header that its schema requires', {}, 400, undefined],
  ])('a route of a program with schemas for Fastify %s', async (_, headers, status, body) => {
    await using service = await startService({
      providers: [ScriptedProvider],
      imports: [{ module: class TeamsModule {}, controllers: [TeamsController] }],
    });
    const answer = await fetch(`${service.origin}/teams`, { headers });
    expect(answer.status).toBe(status);
    if (body !== undefined) expect(await answer.json()).toEqual(body);
  });
});
