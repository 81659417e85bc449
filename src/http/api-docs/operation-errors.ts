import type { Operation } from '../api-description/index.js';
import { ref } from '../api-description/schemas/index.js';
import { ERROR_CODES, type ErrorCode } from '../../protocol/index.js';
import type { JsonSchema } from '../../validation/index.js';
import { headersOf } from './answer-headers.js';

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
export function errorsOf(operation: Operation): Readonly<Record<string, JsonSchema>> {
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
