import { IsOptional } from 'class-validator';

import { type InputItem, refuseMisplacedTrigger } from '../../protocol/index.js';
import { inputItem, metadata } from '../../responses/index.js';
import { type CheckOptions, Closed, IsNullable, listOf, Satisfies, validatorOf } from '../../validation/index.js';

/** Most items that one request may add (protocol §1.2). */
const MOST_ITEMS = 20;

type Metadata = Readonly<Record<string, string>>;

const items = listOf(inputItem, 'an array of input items', { most: MOST_ITEMS });

/** The body of `POST /conversations`. */
@Closed()
export class CreateConversationBody {
  @IsOptional()
  @Satisfies(items)
  readonly items?: readonly InputItem[] | null;

  @IsOptional()
  @Satisfies(metadata)
  readonly metadata?: Metadata | null;
}

/** The body of `POST /conversations/{id}`. */
@Closed()
export class UpdateConversationBody {
  @IsNullable()
  @Satisfies(metadata)
  readonly metadata!: Metadata | null;
}

/** The body of `POST /conversations/{id}/items`. */
@Closed()
export class AddItemsBody {
  @Satisfies(items)
  readonly items!: readonly InputItem[];
}

const checkCreation = validatorOf(CreateConversationBody, { mayBeAbsent: true });
const checkItems = validatorOf(AddItemsBody);

/** Checks a body and returns it; no body is an empty one. Throws ApiError 400 for the first violation. */
export function validateCreateConversation(body: unknown, options: CheckOptions): CreateConversationBody {
  const request = checkCreation(body, options);
  refuseMisplacedTrigger(request.items, 'items');
  return request;
}

export const validateUpdateConversation = validatorOf(UpdateConversationBody);

/** Checks a body and returns it. Throws ApiError 400 for the first violation. */
export function validateAddItems(body: unknown, options: CheckOptions): AddItemsBody {
  const request = checkItems(body, options);
  refuseMisplacedTrigger(request.items, 'items');
  return request;
}
