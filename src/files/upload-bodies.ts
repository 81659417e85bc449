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

import { type CheckOptions, Closed, nested, refuseUnknown, Satisfies, validatorOf } from '../validation/index.js';
import { ExpiresAfter, LONGEST_NAME, PURPOSES } from './file-bodies.js';

/** Most bytes of a file that is uploaded in parts. */
const MAX_UPLOAD_BYTES = 8 * 1024 ** 3;

/** Most parts of an upload. */
const MAX_PARTS = 10_000;

/** The body of `POST /uploads`. */
@Closed()
export class CreateUploadBody {
  @IsInt()
  @Min(1)
  @Max(MAX_UPLOAD_BYTES)
  readonly bytes!: number;

  @IsString()
  @MinLength(1)
  @MaxLength(LONGEST_NAME)
  readonly filename!: string;

  @IsString()
  @MinLength(1)
  @MaxLength(255)
  readonly mime_type!: string;

  @IsIn(PURPOSES)
  readonly purpose!: (typeof PURPOSES)[number];

  @IsOptional()
  @Satisfies(nested(ExpiresAfter))
  readonly expires_after?: ExpiresAfter | null;
}

/** The body of `POST /uploads/{id}/complete`. */
@Closed()
export class CompleteUploadBody {
  /** In the order of the file. */
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_PARTS)
  @IsString({ each: true })
  readonly part_ids!: readonly string[];

  /** Of the file, in hexadecimal digits. */
  @IsOptional()
  @IsString()
  readonly md5?: string | null;
}

export const validateCreateUpload = validatorOf(CreateUploadBody);
export const validateCompleteUpload = validatorOf(CompleteUploadBody);

/** A part has no fields beside its content. */
const PART_FIELDS: ReadonlySet<string> = new Set(['data']);

/** Checks the fields of the form of a part. Throws ApiError 400 for the first violation. */
export function checkPartFields(fields: object, options: CheckOptions): void {
  const violation = refuseUnknown(fields, PART_FIELDS, options);
  if (violation !== null) throw violation.toError();
}
