import type { DescribedBody, DescribedForm, Operation, RequestHeader } from '../api-description/index.js';
import { ref } from '../api-description/schemas/index.js';
import {
  type DecoratedClass,
  type Definitions,
  type JsonSchema,
  nested,
  propertiesOf,
  schemaOf,
  schemaOfObject,
} from '../../validation/index.js';
import type { ApiOperation } from './api-operations.js';
import { headersOf } from './answer-headers.js';
import { ERROR_CODES, type ErrorCode } from '../../protocol/index.js';

const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  path: 'The name of a model. It may contain slashes, as in `org/model`.',
};

const BYTES = 'application/octet-stream';

const BINARY: JsonSchema = { type: 'string', format: 'binary' };

const STREAMED =
  'The response, or with `stream: true` server-sent events: the `data` of each is a `StreamEvent`, that of the last one `[DONE]`.';

/** Of streams in other dialects. */
const STREAMED_OTHERWISE = 'The answer, or with `stream: true` server-sent events.';

/** What the parameters of queries mean, and what they are when they are left out. */
const QUERY_PARAMETERS: Readonly<Record<string, string>> = {
  after:
    'The id of the entry before the page; it may have been deleted within the last hour. Not together with `before`.',
  before: 'The id of the entry after the page. Not together with `after`.',
  bucket_width: 'Only days: `1d`.',
  cascade: 'Whether what continues the response is deleted, too. False by default.',
  depth: 'Levels of the tree, 20 by default.',
  end_time: 'Unix seconds. Now by default.',
  group_by: 'What results are divided by. `tenant` needs the scope `admin`.',
  include: 'Further data of the items.',
  limit: 'Entries of a page: 20 by default, 100 in trees, 366 in usage.',
  models: 'Only these models.',
  order: '`desc` by default.',
  page: 'The `next_page` of the page before.',
  purpose: 'Only files of this purpose.',
  start_time: 'Unix seconds. Seven days before the end by default.',
  starting_after: 'The number of the last event that was read.',
  stream: 'Whether the events of a background response are streamed. False by default.',
  tenant: 'With the scope `admin`: a tenant, or `*` for all. The own one by default.',
};

const REQUEST_HEADERS: Readonly<Record<RequestHeader, JsonSchema>> = {
  'x-session-id': {
    description: 'Names the session of a turn, and restricts look-ups to it.',
    schema: { type: 'string', minLength: 1, maxLength: 256, pattern: '^(?!\\.{1,2}$)[!-~]+$' },
  },
  'x-response-ttl': {
    description: 'The lifetime of the stored response in seconds.',
    schema: { type: 'integer', minimum: 1 },
  },
};

/** An operation as OpenAPI writes it; classes of its body become definitions. */
export function toOpenApi(operation: ApiOperation, definitions: Definitions): JsonSchema {
  const { id, group, summary, description, body, form, query, headers = [], answer, streams = false } = operation;
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
    ...(form === undefined ? {} : { requestBody: formOf(form, definitions) }),
    responses: {
      200: {
        description: describeAnswer(streams),
        headers: headersOf(operation, 200),
        content: {
          ...(answer === 'bytes' ? { [BYTES]: { schema: BINARY } } : { 'application/json': { schema: ref(answer) } }),
          ...(streams === false
            ? {}
            : { 'text/event-stream': { schema: ref(streams === true ? 'StreamEvent' : streams) } }),
        },
      },
      ...errorsOf(operation),
    },
  };
}

function describeAnswer(streams: ApiOperation['streams']): string {
  if (streams === undefined || streams === false) return 'The result.';
  return streams === true ? STREAMED : STREAMED_OTHERWISE;
}

/** The service fills in what a query leaves out, so nothing is required. */
function queryOf(query: DecoratedClass, definitions: Definitions): readonly JsonSchema[] {
  return propertiesOf(query, definitions).map(({ name, schema }) => ({
    ...{ name, in: 'query', required: false, schema },
    ...(QUERY_PARAMETERS[name] === undefined ? {} : { description: QUERY_PARAMETERS[name] }),
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

/** Members of an object are sent as `name[member]`. */
function formOf({ file, of }: DescribedForm, definitions: Definitions): JsonSchema {
  const fields = of === undefined ? { type: 'object' } : schemaOf(nested(of), definitions);
  const content = { type: 'object', required: [file], properties: { [file]: BINARY } };
  return { required: true, content: { 'multipart/form-data': { schema: { allOf: [content, fields] } } } };
}

/** What may happen on every route. */
const EVERYWHERE: readonly ErrorCode[] = [
  ...(['invalid_api_key', 'missing_scope', 'forbidden_host', 'forbidden_origin', 'expectation_failed'] as const),
  ...(['request_header_too_large', 'rate_limit_exceeded', 'server_error', 'service_unavailable'] as const),
];

/** What may be wrong with values. */
const OF_VALUES: readonly ErrorCode[] = [
  ...(['invalid_type', 'invalid_value', 'missing_required_parameter', 'mutually_exclusive_parameters'] as const),
  ...(['integer_above_max_value', 'integer_below_min_value', 'string_above_max_length'] as const),
  ...(['string_below_min_length', 'unknown_parameter', 'object_above_max_properties'] as const),
];

/** What may be wrong with a body. */
const OF_BODIES: readonly ErrorCode[] = [
  ...OF_VALUES,
  ...(['invalid_json', 'array_above_max_length', 'request_timeout', 'request_too_large'] as const),
  ...(['unsupported_media_type', 'unsupported_content_encoding', 'server_is_overloaded'] as const),
];

/** The refusals of an operation by status, with the codes that each may have. */
function errorsOf(operation: Operation): Readonly<Record<string, JsonSchema>> {
  const { body, form, query, headers = [], errors = [], missing = [], errorAnswer = 'Error' } = operation;
  const codes = new Set([
    ...EVERYWHERE,
    ...(body === undefined && form === undefined ? [] : OF_BODIES),
    ...(query === undefined && headers.length === 0 ? [] : OF_VALUES),
    ...errors,
  ]);
  const statuses = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = ERROR_CODES[code];
    statuses.set(status, [...(statuses.get(status) ?? []), code]);
  }
  if (missing.length > 0 && !statuses.has(404)) statuses.set(404, []);
  return Object.fromEntries(
    [...statuses].map(([status, of]) => [
      status,
      { ...toAnswer(of.sort(), status === 404 ? missing : [], errorAnswer), headers: headersOf(operation, status, of) },
    ]),
  );
}

function toAnswer(codes: readonly ErrorCode[], missing: readonly string[], schema: string): JsonSchema {
  const causes = [
    ...(missing.length === 0 ? [] : [`no code: the ${missing.join(' or ').toLowerCase()} does not exist`]),
    ...(codes.length === 0 ? [] : [`codes: ${codes.map((code) => `\`${code}\``).join(', ')}`]),
  ];
  const description = causes.join('; ');
  return {
    description: `${description.charAt(0).toUpperCase()}${description.slice(1)}.`,
    content: { 'application/json': { schema: ref(schema) } },
  };
}
