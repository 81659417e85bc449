import { join } from 'node:path';

import { ApiDocsModule } from '../../src/index.js';
import { PROJECT } from '../support/shipped-files.js';
import type { ServiceOptions } from '../support/service.js';

/** The options of a service that describes itself. */
export const DESCRIBED: ServiceOptions = {
  imports: [ApiDocsModule],
  environment: { PROMPTS_FILE: join(PROJECT, 'test/fixtures/prompts.yaml') },
};

/** A JSON Schema or a part of a document. */
export type Json = Readonly<Record<string, unknown>>;

/** An operation of an OpenAPI document, as far as tests read it. */
export interface DocumentedOperation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Json }[];
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json': {
        readonly schema: Json;
        readonly examples: Readonly<Record<string, { readonly value: Json }>>;
      };
    };
  };
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: Json }>> }>
  >;
}

/** An OpenAPI document, as far as tests read it. */
export interface OpenApi {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

/** Reads a document of a service. */
export async function readDocument<T = OpenApi>(origin: string, path = '/openapi.json'): Promise<T> {
  const answer = await fetch(`${origin}${path}`);
  if (answer.status !== 200) throw new Error(`${path}: status ${answer.status}`);
  return (await answer.json()) as T;
}

/** The operations of a document with their methods and paths. */
export function operationsIn({ paths }: OpenApi): readonly (DocumentedOperation & { method: string; path: string })[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ ...operation, method, path })),
  );
}
