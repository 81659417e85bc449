import type { DescribedBody, RequestHeader } from '../api-description/index.js';
import { ref } from '../api-description/schemas/index.js';
import {
  type DecoratedClass,
  type Definitions,
  type JsonSchema,
  nested,
  propertiesOf,
  schemaOf,
  schemaOfObject,
} from '../validation/index.js';
import type { ApiOperation } from './api-operations.js';
import { headersOf } from './answer-headers.js';
import { errorsOf } from './operation-errors.js';

const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  path: 'The name of a model. It may contain slashes, as in `org/model`.',
};

const REQUEST_HEADERS: Readonly<Record<RequestHeader, JsonSchema>> = {
  'x-session-id': {
    description: 'Names the session of a turn, and restricts look-ups to it.',
    schema: { type: 'string', minLength: 1, maxLength: 256 },
  },
  'x-response-ttl': {
    description: 'The lifetime of the stored response in seconds.',
    schema: { type: 'integer', minimum: 1 },
  },
};

/** An operation as OpenAPI writes it; classes of its body become definitions. */
export function toOpenApi(operation: ApiOperation, definitions: Definitions): JsonSchema {
  const { id, group, summary, description, body, query, headers = [], answer, streams = false } = operation;
  const parameters = [
    ...operation.parameters.map((name) => ({
      ...{ name, in: 'path', required: true, schema: { type: 'string', minLength: 1 } },
      description: PATH_PARAMETERS[name] ?? 'An id.',
    })),
    ...(query === undefined ? [] : queryOf(query, definitions)),
    ...headers.map((name) => ({ name, in: 'header', required: false, ...REQUEST_HEADERS[name] })),
  ];
  return {
    operationId: id,
    tags: [group],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: bodyOf(body, definitions) }),
    responses: {
      200: {
        description: summary,
        headers: headersOf(operation, 200),
        content: {
          'application/json': { schema: ref(answer) },
          ...(streams ? { 'text/event-stream': { schema: ref('StreamEvent') } } : {}),
        },
      },
      ...errorsOf(operation),
    },
  };
}

/** The service fills in what a query leaves out, so nothing is required. */
function queryOf(query: DecoratedClass, definitions: Definitions): readonly JsonSchema[] {
  return propertiesOf(query, definitions).map(({ name, schema }) => ({
    ...{ name, in: 'query', required: false, schema },
    ...(schema.type === 'object' ? { style: 'deepObject', explode: true } : {}),
    ...(schema.type === 'array' ? { style: 'form', explode: true } : {}),
  }));
}

function bodyOf({ of, only, isOptional = false, examples }: DescribedBody, definitions: Definitions): JsonSchema {
  const schema =
    only === undefined
      ? schemaOf(nested(of), definitions)
      : definitions.refer(of.name, of, () => schemaOfObject(of, definitions, only));
  return {
    required: !isOptional,
    content: {
      'application/json': {
        schema,
        examples: Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }])),
      },
    },
  };
}
