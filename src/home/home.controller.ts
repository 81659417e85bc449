import { Controller, Get, Headers, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { Environment } from '../config/index.js';
import { readVersion } from '../read-version.js';

/** The body of `GET /` for programs. */
export interface ServiceDescription {
  readonly name: 'antiphon';
  readonly version: string;
  readonly description: string;
  /** Paths by what they are for. */
  readonly paths: typeof PATHS & Partial<typeof API_DOCS_PATHS>;
}

const PATHS = {
  responses: '/v1/responses',
  conversations: '/v1/conversations',
  compact: '/v1/responses/compact',
  input_tokens: '/v1/responses/input_tokens',
  models: '/v1/models',
  usage: '/v1/usage',
  health: '/healthz',
  readiness: '/readyz',
} as const;

/** With API_DOCS. */
const API_DOCS_PATHS = { openapi: '/openapi.json', asyncapi: '/asyncapi.json', docs: '/docs' } as const;

const version = readVersion();

const DESCRIPTION: ServiceDescription = {
  name: 'antiphon',
  version,
  description: "A self-hosted server for OpenAI's Responses API: JSON, SSE and WebSocket on one path.",
  paths: PATHS,
};

const API_REFERENCE = 'https://platform.openai.com/docs/api-reference/responses';

const page = (links: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Antiphon</title>
<style>body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem }</style>
<h1>Antiphon ${version}</h1>
<p>${DESCRIPTION.description}</p>
<p>Point an OpenAI SDK at <code>/v1</code> on this address, or send a request:</p>
<pre>curl http://ADDRESS/v1/responses -H 'content-type: application/json' \\
  -d '{"model": "ONE OF THE MODELS", "input": "Hello!"}'</pre>
<ul>
<li><code>${PATHS.responses}</code> takes requests and WebSockets; <code>${PATHS.conversations}</code> keeps conversations</li>
<li><code>${PATHS.compact}</code> shortens a long context; <code>${PATHS.input_tokens}</code> counts the tokens of a request</li>
<li><a href="/v1/models">Models</a> (with an API key, if the service has keys)</li>
${links}<li><a href="${API_REFERENCE}">API reference</a>; the documentation of this server is in <code>docs/</code> of its repository</li>
<li><a href="/healthz">Health</a> and <a href="/readyz">readiness</a></li>
</ul>
</html>
`;

const API_DOCS_LINKS = `<li><a href="${API_DOCS_PATHS.docs}">API description</a>, also for generators of clients: <a href="${API_DOCS_PATHS.openapi}">OpenAPI</a> and <a href="${API_DOCS_PATHS.asyncapi}">AsyncAPI</a></li>
`;

/** `GET /`: says what this service is, as a page to browsers and as JSON to programs. Needs no authentication. */
@Controller()
export class HomeController {
  constructor(private readonly environment: Environment) {}

  @Get()
  home(@Headers('accept') accept: string | undefined, @Res({ passthrough: true }) reply: FastifyReply): unknown {
    // CORS has named `origin` already.
    void reply.header('vary', [reply.getHeader('vary'), 'accept'].filter(Boolean).join(', '));
    void reply.header('cache-control', 'no-cache');
    const { API_DOCS } = this.environment;
    if (accept?.includes('text/html') !== true) {
      return API_DOCS ? { ...DESCRIPTION, paths: { ...PATHS, ...API_DOCS_PATHS } } : DESCRIPTION;
    }
    void reply.type('text/html; charset=utf-8');
    void reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'");
    return page(API_DOCS ? API_DOCS_LINKS : '');
  }
}
