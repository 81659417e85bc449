import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  Min,
  MinLength,
} from 'class-validator';

import { PageParameters, toPageParameters, toPageRequest } from '../../http/index.js';
import { ApiError } from '../../protocol/index.js';
import { metadata } from '../../responses/index.js';
import { type Attributes, DEFAULT_CHUNKING, type StoreFilePage, type StoreFileStatus } from '../../state/index.js';
import {
  type Check,
  Closed,
  described,
  isObject,
  listOf,
  nested,
  propertyNameTooLong,
  type Query,
  queryCheckOf,
  Satisfies,
  tooLong,
  tooManyProperties,
  unionBy,
  validatorOf,
  type Violation,
  wrongType,
} from '../../validation/index.js';

/** Most files of one request. */
const MOST_FILES = 500;

const MOST_ATTRIBUTES = 16;
const LONGEST_KEY = 64;
const LONGEST_VALUE = 512;

const STATUSES = ['in_progress', 'completed', 'failed', 'cancelled'] as const;

/** When a store expires. */
@Closed()
class StoreExpiresAfter {
  @IsIn(['last_active_at'])
  readonly anchor!: 'last_active_at';

  @IsInt()
  @Min(1)
  @Max(365)
  readonly days!: number;
}

@Closed()
class StaticSizes {
  @IsInt()
  @Min(100)
  @Max(4096)
  readonly max_chunk_size_tokens!: number;

  /** At most half of a chunk. */
  @IsInt()
  @Min(0)
  @Max(2048)
  readonly chunk_overlap_tokens!: number;
}

@Closed()
class AutoChunking {
  @IsIn(['auto'])
  readonly type!: 'auto';
}

@Closed()
class StaticChunking {
  @IsIn(['static'])
  readonly type!: 'static';

  @Satisfies(nested(StaticSizes))
  readonly static!: StaticSizes;
}

type ChunkingStrategy = AutoChunking | StaticChunking;

const chunkingStrategy = unionBy('type', { auto: nested(AutoChunking), static: nested(StaticChunking) });

/** Attributes of a file: texts, numbers and booleans. */
const attributes: Check = described(checkAttributes, {
  type: 'object',
  maxProperties: MOST_ATTRIBUTES,
  propertyNames: { type: 'string', maxLength: LONGEST_KEY },
  additionalProperties: {
    anyOf: [{ type: 'string', maxLength: LONGEST_VALUE }, { type: 'number' }, { type: 'boolean' }],
  },
});

function checkAttributes(value: unknown): Violation | null {
  if (!isObject(value)) return wrongType('an object', value);
  const members = Object.entries(value);
  if (members.length > MOST_ATTRIBUTES) return tooManyProperties(MOST_ATTRIBUTES, members.length);
  for (const [key, each] of members) {
    if (key.length > LONGEST_KEY) return propertyNameTooLong(LONGEST_KEY, key);
    if (typeof each === 'string' && each.length > LONGEST_VALUE) return tooLong(LONGEST_VALUE, each).under(key);
    const isValue = typeof each === 'string' || typeof each === 'number' || typeof each === 'boolean';
    if (!isValue) return wrongType('a string, a number or a boolean', each).under(key);
  }
  return null;
}

/** The body of `POST /vector_stores`. */
@Closed()
export class CreateStoreBody {
  @IsOptional()
  @IsString()
  @MaxLength(256)
  readonly name?: string | null;

  @IsOptional()
  @IsString()
  @MaxLength(512)
  readonly description?: string | null;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MOST_FILES)
  @IsString({ each: true })
  readonly file_ids?: readonly string[] | null;

  /** Of `file_ids`. */
  @IsOptional()
  @Satisfies(chunkingStrategy)
  readonly chunking_strategy?: ChunkingStrategy | null;

  @IsOptional()
  @Satisfies(nested(StoreExpiresAfter))
  readonly expires_after?: StoreExpiresAfter | null;

  @IsOptional()
  @Satisfies(metadata)
  readonly metadata?: Readonly<Record<string, string>> | null;
}

/** The body of `POST /vector_stores/{id}`. What is absent stays. */
@Closed()
export class UpdateStoreBody {
  @IsOptional()
  @IsString()
  @MaxLength(256)
  readonly name?: string | null;

  /** Null: it does not expire any more. */
  @IsOptional()
  @Satisfies(nested(StoreExpiresAfter))
  readonly expires_after?: StoreExpiresAfter | null;

  @IsOptional()
  @Satisfies(metadata)
  readonly metadata?: Readonly<Record<string, string>> | null;
}

/** A file to add to a store: the body of `POST /vector_stores/{id}/files`. */
@Closed()
export class AddFileBody {
  @IsString()
  @MinLength(1)
  readonly file_id!: string;

  @IsOptional()
  @Satisfies(attributes)
  readonly attributes?: Attributes | null;

  @IsOptional()
  @Satisfies(chunkingStrategy)
  readonly chunking_strategy?: ChunkingStrategy | null;
}

/** The body of `POST /vector_stores/{id}/files/{file}`. */
@Closed()
export class UpdateFileBody {
  /** In place of those that it has, which stay where this is absent. */
  @IsOptional()
  @Satisfies(attributes)
  readonly attributes?: Attributes | null;
}

const files = listOf(nested(AddFileBody), 'an array of files', { least: 1, most: MOST_FILES });

/** The body of `POST /vector_stores/{id}/file_batches`: either `file_ids`, with the same for all of them, or `files`. */
@Closed()
export class AddBatchBody {
  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MOST_FILES)
  @IsString({ each: true })
  readonly file_ids?: readonly string[] | null;

  @IsOptional()
  @Satisfies(files)
  readonly files?: readonly AddFileBody[] | null;

  @IsOptional()
  @Satisfies(attributes)
  readonly attributes?: Attributes | null;

  @IsOptional()
  @Satisfies(chunkingStrategy)
  readonly chunking_strategy?: ChunkingStrategy | null;
}

/** The query of lists of files. */
export class StoreFileListParameters extends PageParameters {
  /** Only files with this status. */
  @IsOptional()
  @IsIn(STATUSES)
  readonly filter?: StoreFileStatus;
}

/** No body is an empty one, which is refused for the members that it lacks. */
export const ABSENT = { mayBeAbsent: true };

export const validateCreateStore = validatorOf(CreateStoreBody, ABSENT);
export const validateUpdateStore = validatorOf(UpdateStoreBody, ABSENT);
export const validateAddFile = validatorOf(AddFileBody, ABSENT);
export const validateUpdateFile = validatorOf(UpdateFileBody, ABSENT);
export const validateAddBatch = validatorOf(AddBatchBody, ABSENT);

const checkFileList = queryCheckOf(StoreFileListParameters);

/** Reads the query of a list of files. Throws ApiError 400 for the first violation. */
export function readStoreFileList(query: Query): Omit<StoreFilePage, 'batchId'> {
  const { filter } = query;
  const checked = checkFileList({ ...toPageParameters(query), ...(filter === undefined ? {} : { filter }) });
  return { ...toPageRequest(checked), ...(checked.filter === undefined ? {} : { status: checked.filter }) };
}

/** How a text is cut, tokens. Throws ApiError 400 for an overlap of more than half a chunk. */
export function toChunking(strategy: ChunkingStrategy | null | undefined, place: string): typeof DEFAULT_CHUNKING {
  if (strategy?.type !== 'static') return DEFAULT_CHUNKING;
  const { max_chunk_size_tokens: size, chunk_overlap_tokens: overlap } = strategy.static;
  if (overlap * 2 <= size) return { size, overlap };
  const param = `${place}.static.chunk_overlap_tokens`;
  const most = Math.floor(size / 2);
  throw ApiError.of('invalid_value', `Invalid '${param}': it is more than half of a chunk, ${most} tokens.`, { param });
}
