import { IsIn, IsInt, IsOptional, IsString, Max, Min, MinLength } from 'class-validator';

import type { FilePage } from '../state/index.js';
import {
  type CheckOptions,
  Closed,
  compile,
  nested,
  type Query,
  queryCheckOf,
  Satisfies,
  toNumber,
} from '../validation/index.js';

/** What files may be for. */
export const PURPOSES = ['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'] as const;

const HOUR_SECONDS = 3600;
const MONTH_SECONDS = 30 * 24 * HOUR_SECONDS;

/** Longest name of a file, characters. */
export const LONGEST_NAME = 512;

/** When a file expires. */
@Closed()
export class ExpiresAfter {
  @IsIn(['created_at'])
  readonly anchor!: 'created_at';

  @IsInt()
  @Min(HOUR_SECONDS)
  @Max(MONTH_SECONDS)
  readonly seconds!: number;
}

/** The fields of `POST /files` beside its file. */
@Closed()
export class CreateFileFields {
  @IsIn(PURPOSES)
  readonly purpose!: (typeof PURPOSES)[number];

  @IsOptional()
  @Satisfies(nested(ExpiresAfter))
  readonly expires_after?: ExpiresAfter | null;
}

/** The query of `GET /files`. */
export class FileListParameters {
  @IsInt()
  @Min(1)
  @Max(10_000)
  readonly limit!: number;

  @IsIn(['asc', 'desc'])
  readonly order!: 'asc' | 'desc';

  @IsOptional()
  @IsString()
  @MinLength(1)
  readonly after?: string;

  @IsOptional()
  @IsString()
  @MinLength(1)
  readonly purpose?: string;
}

const checkFields = compile(CreateFileFields);
const checkList = queryCheckOf(FileListParameters);

/** Reads the fields of a form. Throws ApiError 400 for the first violation. */
export function readFileFields(fields: Readonly<Record<string, string>>, options: CheckOptions): CreateFileFields {
  const parameters: Record<string, unknown> = {};
  const expiry: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    const member = /^expires_after\[(\w+)\]$/.exec(name)?.[1];
    if (member === undefined) parameters[name] = value;
    else expiry[member] = member === 'seconds' ? toNumber(value) : value;
  }
  if (Object.keys(expiry).length > 0) parameters['expires_after'] = expiry;
  checkFields(parameters, options);
  return parameters as unknown as CreateFileFields;
}

/** Reads the query of a list of files. Throws ApiError 400 for the first violation. */
export function readFileList({ limit, order, after, purpose }: Query): FilePage {
  return checkList({
    limit: toNumber(limit ?? 10_000),
    order: order ?? 'desc',
    ...(after === undefined ? {} : { after }),
    ...(purpose === undefined ? {} : { purpose }),
  });
}

/** A name as it is stored: a sender may have left it out. */
export function toFilename(name: string): string {
  return name === '' ? 'file' : name.slice(0, LONGEST_NAME);
}
