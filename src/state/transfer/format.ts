import type { Tenant } from '../../access/index.js';
import type { Claim } from '../claims.js';
import { type MovedJob, type MovedRecord, StateTransferError } from '../state-transfer.js';
import type { MovedLibraryEntry } from './moved-library.js';

/** Names the format in the first line of a file. */
export const FORMAT = 'antiphon-state';
/** The version that is written; older ones can be read. */
export const VERSION = 1;

/** The first line. */
export interface HeaderLine {
  readonly format: typeof FORMAT;
  readonly version: number;
}

/** A secret of the service. Secrets come first. */
export interface SecretLine {
  readonly kind: 'secret';
  readonly name: string;
  readonly value: string;
}

/** The tenant of the records that follow. */
interface TenantLine {
  readonly kind: 'tenant';
  readonly tenant: Tenant;
}

/** A name of the tenant that has an owner: it was used, and stays so. */
interface ClaimLine extends Claim {
  readonly kind: 'claim';
}

/** The last line: a file without it is not whole. */
interface EndLine {
  readonly kind: 'end';
}

/** A line after the first. */
export type StateLine = SecretLine | TenantLine | MovedRecord | MovedLibraryEntry | MovedJob | ClaimLine | EndLine;

const TIME = of('number', 'null');
const ITEMS = list(object({ id: of('string') }));
const EVENT = object({
  type: of('string'),
  sequenceNumber: of('number'),
  json: of('string'),
  deltaLength: of('number'),
});
const NOTE = object({ before: of('number'), type: of('string') });

/** The members of each kind of line. */
const SHAPES: Readonly<Record<StateLine['kind'], Shape>> = {
  secret: object({ name: of('string'), value: of('string') }),
  tenant: object({ tenant: of('string') }),
  conversation: object({
    record: object({ id: of('string'), createdAt: of('number'), metadata: of('object') }),
    isDeleted: of('boolean'),
    version: of('number'),
    end: of('number'),
  }),
  entries: object({
    conversationId: of('string'),
    version: of('number'),
    entries: list(object({ position: of('number'), isGiven: of('boolean'), item: object({ id: of('string') }) })),
  }),
  response: object({
    response: object({
      id: of('string'),
      created_at: of('number'),
      status: of('string'),
      model: of('string'),
      output: ITEMS,
    }),
    input: ITEMS,
    given: list(object({ after: of('number'), items: ITEMS })),
    inherited: ITEMS,
    parentId: of('string', 'null'),
    origin: of('object', 'null'),
    place: nullable(object({ conversationId: of('string'), before: of('number') })),
    sessionId: of('string'),
    sessions: list(of('string')),
    expiresAt: TIME,
    run: nullable(
      object({
        turn: of('string'),
        isStream: of('boolean'),
        attempts: of('number'),
        logExpiresAt: TIME,
        log: object({ firstEvent: of('number'), firstNote: of('number'), events: list(EVENT), notes: list(NOTE) }),
      }),
    ),
  }),
  claim: object({ name: of('string'), owner: of('string'), expiresAt: of('number') }),
  piece: object({ fileId: of('string'), position: of('number'), bytes: of('string') }),
  file: object({
    record: object({
      id: of('string'),
      createdAt: of('number'),
      bytes: of('number'),
      filename: of('string'),
      purpose: of('string'),
      mimeType: of('string', 'null'),
      sha256: of('string'),
      expiresAt: TIME,
    }),
  }),
  store: object({
    record: object({
      id: of('string'),
      createdAt: of('number'),
      name: of('string', 'null'),
      description: of('string', 'null'),
      metadata: of('object'),
      expiresAfterDays: of('number', 'null'),
      lastActiveAt: of('number'),
      embeddingModel: of('string'),
    }),
  }),
  store_file: object({
    file: object({
      storeId: of('string'),
      fileId: of('string'),
      createdAt: of('number'),
      attributes: of('object'),
      chunking: object({ size: of('number'), overlap: of('number') }),
      status: of('string'),
      error: of('object', 'null'),
    }),
  }),
  job: object({ queue: of('string'), id: of('string'), data: of('object') }),
  end: object({}),
};

/** Checks the first line. Throws StateTransferError. */
export function requireHeader(line: string): void {
  const header = parse(line) as Partial<HeaderLine> | undefined;
  if (header?.format !== FORMAT || typeof header.version !== 'number') {
    throw new StateTransferError('Line 1 does not say that this is an export: expected the output of antiphon export.');
  }
  if (header.version <= VERSION) return;
  throw new StateTransferError(
    `The export has version ${header.version} of the format, and this program reads up to ${VERSION}: import it with a newer one.`,
  );
}

/** Reads a line after the first. Throws StateTransferError. */
export function readLine(number: number, line: string): StateLine {
  const value = parse(line);
  if (value === undefined) throw new StateTransferError(`Line ${number} is not valid: expected a JSON object.`);
  const { kind } = value as { readonly kind?: unknown };
  if (typeof kind !== 'string' || !Object.hasOwn(SHAPES, kind)) {
    throw new StateTransferError(
      `Line ${number} is not valid: expected kind to be one of ${Object.keys(SHAPES).join(', ')}.`,
    );
  }
  const read = value as StateLine;
  const fault = SHAPES[read.kind](value, '');
  if (fault !== undefined) throw new StateTransferError(`Line ${number} is not valid: ${read.kind}: ${fault}.`);
  return read;
}

function parse(line: string): object | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Says what is wrong with a value, as a part of a sentence; undefined when it has the shape. */
type Shape = (value: unknown, path: string) => string | undefined;

type JsonType = 'string' | 'number' | 'boolean' | 'null' | 'array' | 'object';

/** A value of one of some JSON types. */
function of(...types: readonly JsonType[]): Shape {
  return (value, path) => {
    const type = typeOf(value);
    if (types.some((expected) => expected === type)) return undefined;
    return `expected ${path} to be ${types.join(' or ')}, but got ${type}`;
  };
}

/** An object with these members, and perhaps others. */
function object(members: Readonly<Record<string, Shape>>): Shape {
  const isObject = of('object');
  return (value, path) => {
    const fault = isObject(value, path);
    if (fault !== undefined) return fault;
    for (const [name, shape] of Object.entries(members)) {
      const member: unknown = Object.hasOwn(value as object, name)
        ? (value as Record<string, unknown>)[name]
        : undefined;
      const found = shape(member, path === '' ? name : `${path}.${name}`);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** A list of such values. */
function list(shape: Shape): Shape {
  const isList = of('array');
  return (value, path) => {
    const fault = isList(value, path);
    if (fault !== undefined) return fault;
    for (const [index, element] of (value as readonly unknown[]).entries()) {
      const found = shape(element, `${path}[${index}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** A value of a shape, or null. */
function nullable(shape: Shape): Shape {
  return (value, path) => (value === null ? undefined : shape(value, path));
}

function typeOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
