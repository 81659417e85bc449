import { IsBoolean, IsIn, IsOptional, IsString, Matches, MaxLength, MinLength } from 'class-validator';
import { Closed, described, every, nested, Satisfies, unionBy } from '../../validation/index.js';
import { jsonSchema } from './json-schema.js';
import { strictFormat } from './strict-schema.js';

/** `text.format` of type `json_schema` (protocol §2). */
export class JsonSchemaFormat {
  @IsString()
  @MinLength(1)
  @MaxLength(64)
  @Matches(/^[a-zA-Z0-9_-]+$/)
  readonly name!: string;

  @IsOptional()
  @IsString()
  readonly description?: string | null;

  @IsOptional()
  @IsBoolean()
  readonly strict?: boolean | null;

  @Satisfies(jsonSchema)
  readonly schema!: object;
}

const nothingMore = described(() => null, {});

const schemaFormat = every([nested(JsonSchemaFormat), strictFormat]);

const textFormat = unionBy(
  'type',
  new Map([
    ['json_object', nothingMore],
    ['json_schema', schemaFormat],
    ['text', nothingMore],
  ]),
);

/** The formats to which a `configuration_update` may change. */
export const updatedFormat = unionBy(
  'type',
  new Map([
    ['json_schema', schemaFormat],
    ['text', nothingMore],
  ]),
);

/** `text` (protocol §2). */
@Closed()
export class TextConfig {
  @IsOptional()
  @Satisfies(textFormat)
  readonly format?: object | null;

  @IsOptional()
  @IsIn(['low', 'medium', 'high'])
  readonly verbosity?: string | null;
}
