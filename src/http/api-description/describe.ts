import { SetMetadata } from '@nestjs/common';

import type { ErrorCode, MissingKind } from '../../protocol/index.js';
import type { DecoratedClass } from '../../validation/index.js';
import type { AnswerName } from './schemas/index.js';

/** The groups in which documents show operations. */
type OperationGroup =
  | 'Responses'
  | 'Chat Completions'
  | 'Messages'
  | 'Graph'
  | 'Conversations'
  | 'Files'
  | 'Vector stores'
  | 'Sessions'
  | 'Models'
  | 'Embeddings'
  | 'Prompts'
  | 'Connections'
  | 'Access'
  | 'Usage';

/** Request headers with a meaning of their own. */
export type RequestHeader = 'x-session-id' | 'x-response-ttl';

/** The body of a request. */
export interface DescribedBody {
  /** The class by which it is validated. */
  readonly of: DecoratedClass;
  /** The members that the route takes; all by default. */
  readonly only?: ReadonlySet<string>;
  /** Whether there may be none. */
  readonly isOptional?: boolean;
  /** Valid bodies, by what they show. Tests send them. */
  readonly examples: Readonly<Record<string, object>>;
}

/** The form of a request, `multipart/form-data`. */
export interface DescribedForm {
  /** The name of its file. */
  readonly file: string;
  /** The class by which its other fields are validated. */
  readonly of?: DecoratedClass;
}

/** What a route says of itself for the API description. Its path, method and parameters in the path are those of its decorators. */
export interface Operation {
  /** `operationId`: the name of the function in generated clients. */
  readonly id: string;
  readonly group: OperationGroup;
  /** One line. */
  readonly summary: string;
  /** Markdown. */
  readonly description?: string;
  readonly body?: DescribedBody;
  readonly form?: DescribedForm;
  /** The class by which the query is validated. */
  readonly query?: DecoratedClass;
  readonly headers?: readonly RequestHeader[];
  /** The schema of the answer with status 200; `bytes`: it is not JSON. */
  readonly answer: AnswerName | 'bytes';
  /** Whether the answer may be a stream of events instead; the schema of these events where they are not those of the Responses API. */
  readonly streams?: boolean | AnswerName;
  /** The schema of its errors; that of OpenAI by default. */
  readonly errorAnswer?: AnswerName;
  /** Whether it is a turn, which counts for the limits: its answers tell what is left of them. */
  readonly isTurn?: boolean;
  /** Codes beyond those that every route has, and those of its body and query. */
  readonly errors?: readonly ErrorCode[];
  /** What a 404 without a code says is missing. */
  readonly missing?: readonly MissingKind[];
}

const OPERATION = 'antiphon:operation';

/** Describes a route for `/openapi.json`. The function is called when the document is written. */
export function Describe(operation: () => Operation): MethodDecorator {
  return SetMetadata(OPERATION, operation);
}

/** The description of a route's handler; undefined without one. */
export function operationOf(handler: object): Operation | undefined {
  return (Reflect.getMetadata(OPERATION, handler) as (() => Operation) | undefined)?.();
}
