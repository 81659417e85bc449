import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import { Controller, Get, Headers, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { Environment, hasCredentials } from '../../config/index.js';
import { ConsolePage } from '../../console/index.js';
import { answerAsPage, escapeHtml, FAVICON, wantsPage } from '../index.js';
import { ProviderRegistry } from '../../providers/index.js';
import { readVersion } from '../../read-version.js';

/** The body of `GET /` for programs. */
interface ServiceDescription {
  readonly name: 'antiphon';
  readonly version: string;
  readonly description: string;
  /** Paths by what they are for. */
  readonly paths: Readonly<Record<string, string>>;
}

const PATHS = {
  responses: '/v1/responses',
  conversations: '/v1/conversations',
  compact: '/v1/responses/compact',
  input_tokens: '/v1/responses/input_tokens',
  files: '/v1/files',
  vector_stores: '/v1/vector_stores',
  embeddings: '/v1/embeddings',
  models: '/v1/models',
  usage: '/v1/usage',
  health: '/healthz',
  readiness: '/readyz',
} as const;

/** By the names of DOORS. */
const DOOR_PATHS = {
  messages: { messages: '/v1/messages' },
  chat: { chat_completions: '/v1/chat/completions' },
} as const;

/** With API_DOCS. */
const API_DOCS_PATHS = { openapi: '/openapi.json', asyncapi: '/asyncapi.json', docs: '/docs' } as const;

const version = readVersion();

const DESCRIPTION: Omit<ServiceDescription, 'paths'> = {
  name: 'antiphon',
  version,
  description: "A self-hosted server for OpenAI's Responses API: JSON, SSE and WebSocket on one path.",
};

const API_REFERENCE = 'https://platform.openai.com/docs/api-reference/responses';

const STYLE = `body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere }
pre { white-space: pre-wrap; background: #f2f2f2; padding: 0.75rem; border-radius: 0.25rem }`;

/** The address is the one in the browser: the page may have come through a proxy. Only pages over HTTPS and of this machine may copy. */
const SCRIPT = String.raw`const command = document.querySelector('pre');
const button = document.querySelector('button');
command.textContent = command.textContent.replace(/http:\/\/[^/]+/, location.origin);
if (navigator.clipboard) {
  button.hidden = false;
  button.addEventListener('click', () =>
    navigator.clipboard.writeText(command.textContent).then(() => (button.textContent = 'Copied')));
}`;

const POLICY = [
  "style-src 'unsafe-inline'",
  `script-src 'sha256-${hash('sha256', SCRIPT, 'base64')}'`,
  'img-src data:',
];

/** What the page shows of this service. */
interface Shown {
  /** Items of the list. */
  readonly links: string;
  /** The request to try. */
  readonly command: string;
}

const page = ({ links, command }: Shown): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Antiphon</title>
<link rel="icon" href="${FAVICON}">
<style>${STYLE}</style>
<h1>Antiphon ${version}</h1>
<p>${DESCRIPTION.description}</p>
<p>Point an OpenAI SDK at <code>/v1</code> on this address, or send a request:</p>
<pre>${escapeHtml(command)}</pre>
<p><button type="button" hidden>Copy</button></p>
<ul>
<li><code>${PATHS.responses}</code> takes requests and WebSockets; <code>${PATHS.conversations}</code> keeps conversations</li>
<li><code>${PATHS.files}</code> and <code>${PATHS.vector_stores}</code> keep files and search them</li>
<li><code>${PATHS.compact}</code> shortens a long context; <code>${PATHS.input_tokens}</code> counts the tokens of a request</li>
<li><a href="/v1/models">Models</a> (with an API key, if the service has keys)</li>
${links}<li><a href="${API_REFERENCE}">API reference of OpenAI</a>; the guides of this server are in <code>docs/</code> of its package</li>
<li><a href="/healthz">Health</a> and <a href="/readyz">readiness</a></li>
</ul>
<script>${SCRIPT}</script>
</html>
`;

const API_DOCS_LINKS = `<li><a href="${API_DOCS_PATHS.docs}">Documentation of the API</a>, also for generators of clients: <a href="${API_DOCS_PATHS.openapi}">OpenAPI</a> and <a href="${API_DOCS_PATHS.asyncapi}">AsyncAPI</a></li>
`;

/**
 * `GET /`: says what this service is, as a page to browsers and as JSON to programs. Where the console is on, it is the page. Needs no
 * authentication.
 */
@Controller()
export class HomeController {
  constructor(
    private readonly environment: Environment,
    private readonly providers: ProviderRegistry,
    private readonly console: ConsolePage,
  ) {}

  @Get()
  home(@Headers() { accept, host }: IncomingHttpHeaders, @Res({ passthrough: true }) reply: FastifyReply): unknown {
    void reply.header('cache-control', 'no-cache');
    const { API_DOCS } = this.environment;
    if (!wantsPage(accept, reply)) return this.describe();
    if (this.console.isOn) return this.console.answer(reply, './console');
    answerAsPage(reply, ...POLICY);
    return page({ links: API_DOCS ? API_DOCS_LINKS : '', command: this.commandFor(host) });
  }

  private describe(): ServiceDescription {
    const { API_DOCS, DOORS } = this.environment;
    const doors = Object.assign({}, ...DOORS.map((door) => DOOR_PATHS[door])) as Readonly<Record<string, string>>;
    return { ...DESCRIPTION, paths: { ...PATHS, ...doors, ...(API_DOCS ? API_DOCS_PATHS : {}) } };
  }

  /** A request that works as it is; with keys, it needs one and a model, which only those may know who have a key. */
  private commandFor(host = 'localhost'): string {
    const isOpen = !hasCredentials(this.environment);
    const model = isOpen ? this.providers.listed({})[0]?.id : undefined;
    const key = isOpen ? '' : ' -H "authorization: Bearer $API_KEY"';
    const body = JSON.stringify({ model: model ?? 'ONE OF THE MODELS', input: 'Hello!' }).replaceAll(
      "'",
      String.raw`'\''`,
    );
    return `curl http://${host}/v1/responses${key} -H 'content-type: application/json' \\\n  -d '${body}'`;
  }
}
