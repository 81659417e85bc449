import { SENT_SCHEMAS } from '../api-description/schemas/index.js';
import { readVersion } from '../../read-version.js';
import { Definitions, type JsonSchema } from '../../validation/index.js';
import type { ApiOperation } from './api-operations.js';
import { HEADERS } from './answer-headers.js';
import { toOpenApi } from './openapi-operation.js';

const DESCRIPTION = `A self-hosted server for OpenAI's Responses API. Official OpenAI SDKs work with it.

Unknown members of requests are ignored unless they look misspelt, or refused, as UNKNOWN_PARAMETERS says. Rules that concern several
members, such as that a request has an \`input\` or a history, are not in these schemas. \`prompt\`, \`moderation\`, \`multi_agent.enabled\` and, over HTTP,
\`prompt_cache_options.prewarm\` are refused with \`unsupported_parameter\`. New versions may add members to answers.

WebSockets are on the path of \`POST /responses\`: \`/asyncapi.json\` describes them.`;

/** The group that readers come for; the others follow by name. */
const FIRST_GROUP = 'Responses';

/**
 * The OpenAPI 3.1 document of an API.
 *
 * @param servers the paths below which the routes are, such as `/v1`
 */
export function writeOpenApi(operations: readonly ApiOperation[], servers: readonly string[]): JsonSchema {
  const definitions = new Definitions('#/components/schemas/');
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const operation of operations) {
    (paths[operation.path] ??= {})[operation.method] = toOpenApi(operation, definitions);
  }
  for (const [name, schema] of Object.entries(SENT_SCHEMAS)) definitions.refer(name, schema, () => schema);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Antiphon',
      version: readVersion(),
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: servers.map((url) => ({ url })),
    security: [{ bearer: [] }],
    tags: [...new Set([FIRST_GROUP, ...operations.map(({ group }) => group).sort()])].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key. A service without keys needs none.' },
      },
      headers: HEADERS,
      schemas: definitions.all(),
    },
  };
}
