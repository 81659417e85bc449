import { IsOptional, IsString, MaxLength } from 'class-validator';

import { parametersWhere } from '../../protocol/index.js';
import { CreateRequestBody } from './create-request-body.js';

/** The body of `POST /responses/input_tokens`: members of `POST /responses`, and `personality` (protocol §1.1). */
export class InputTokensBody extends CreateRequestBody {
  @IsOptional()
  @IsString()
  @MaxLength(64)
  readonly personality?: string | null;
}

/** The members that a count takes (protocol §1.1). */
export const COUNTED_MEMBERS: ReadonlySet<string> = new Set([
  ...parametersWhere(({ counts }) => counts === true),
  'personality',
]);
