import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';

import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { FastifyInstance, FastifyRequest } from 'fastify';

import { ApiError } from '../protocol/index.js';

/** The route configuration of what takes `multipart/form-data`; its handler reads the form from the raw request. */
export const FORM_ROUTE = { antiphon: 'form' } as const;

/** Most files and fields, and the longest value of a field. A second file, of which nothing is kept, is refused by its name. */
const LIMITS = { files: 2, fields: 20, fieldSize: 4096, fieldNameSize: 100, headerPairs: 20 };

/** RFC 7578 section 4.2: each part has a name. */
const NAMELESS = new Error('a part has no name');

interface FormFile<T> {
  readonly filename: string;
  readonly mimeType: string;
  /** What `receive` has made of its content. */
  readonly received: T;
}

/** What becomes of a form. */
export interface FormReceiver<T, F> {
  /** Reads the fields beside the file. Throws ApiError 400. */
  read(fields: Readonly<Record<string, string>>): F;
  /** Gets the content while it arrives, before the fields behind it are known; no more of it is read than this takes. */
  receive(content: AsyncIterable<Uint8Array>): Promise<T>;
  /** Puts away what `receive` has made of a file whose form has failed behind it. Must not throw. */
  discard(received: T): Promise<void>;
}

/** A form that was read to its end. */
export interface Form<T, F> {
  readonly fields: F;
  readonly file: FormFile<T>;
}

/** Leaves bodies of forms to the handlers of routes that take them; others refuse them with 415, as before. */
export function acceptForms(fastify: FastifyInstance): void {
  fastify.addContentTypeParser('multipart/form-data', (request, _payload, done) => {
    if (isForm(request)) done(null);
    else done(ApiError.of('unsupported_media_type', "Send UTF-8 JSON with 'content-type: application/json'."));
  });
}

/** Whether the handler of a request reads its body as a form. */
export function isForm({ routeOptions, headers }: FastifyRequest): boolean {
  const { antiphon } = routeOptions.config;
  return antiphon === FORM_ROUTE.antiphon && /^multipart\/form-data\b/i.test(headers['content-type'] ?? '');
}

/**
 * Reads a form whose field `name` is a file. Throws ApiError 400 for what is no form and for one without the file, 415 for one that is compressed
 * or of another type, what `receive` and `read` throw, and Error when the client leaves; the file and the rest of the request are discarded then.
 */
export async function readForm<T, F>(
  request: IncomingMessage,
  name: string,
  receiver: FormReceiver<T, F>,
): Promise<Form<T, F>> {
  const form = open(request);
  const fields = new Map<string, string>();
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  // The first failure is reported; there may be nothing that waits for it yet.
  failed.catch(() => undefined);
  let content: Readable | undefined;
  let file: Promise<FormFile<T>> | undefined;
  form.on('file', (field: string | undefined, stream, filename: string | undefined, _encoding, mimeType) => {
    if (field === undefined) {
      fail(malformed(NAMELESS));
      stream.resume();
      return;
    }
    if (field !== name || file !== undefined) {
      const message = `Expected one file, as '${name}', but got '${field.slice(0, 100)}'.`;
      fail(field === name ? doubled(name) : ApiError.of('invalid_value', message));
      stream.resume();
      return;
    }
    content = stream;
    // `receive` may have failed before it read anything: nobody else listens then.
    stream.on('error', () => undefined);
    file = receiver.receive(stream).then((received) => ({ filename: filename ?? '', mimeType, received }));
    file.catch(fail);
  });
  form.on('field', (field: string | undefined, value, isNameCut, isCut) => {
    if (field === undefined) {
      fail(malformed(NAMELESS));
      return;
    }
    if (isNameCut || isCut) fail(ApiError.of('string_above_max_length', 'A field of the form is too long.'));
    if (fields.has(field)) fail(doubled(field));
    fields.set(field, value);
  });
  for (const limit of ['filesLimit', 'fieldsLimit'] as const) {
    form.on(limit, () => fail(ApiError.of('invalid_value', `The form has more fields than '${name}' needs.`)));
  }
  form.on('error', (error) => fail(malformed(error)));
  const leave = (): void => {
    if (!request.complete) fail(new Error('the client has left'));
  };
  request.once('close', leave);
  try {
    await Promise.race([failed, ended(request, form)]);
    if (file === undefined) {
      const missing = `Missing required parameter: '${name}'.`;
      const message = fields.has(name)
        ? `${missing} The field has a text: expected a file, with a 'filename'.`
        : missing;
      throw ApiError.of('missing_required_parameter', message, { param: name });
    }
    const whole = await Promise.race([failed, file]);
    return { fields: receiver.read(Object.fromEntries(fields)), file: whole };
  } catch (error) {
    request.unpipe(form);
    // Discards the rest: the next request comes on the same connection.
    request.resume();
    content?.destroy(error instanceof Error ? error : new Error('the form cannot be read'));
    // What has received a part of the content puts that away first, itself.
    await file?.then(
      ({ received }) => receiver.discard(received),
      () => undefined,
    );
    throw error;
  } finally {
    request.off('close', leave);
  }
}

function ended(request: IncomingMessage, form: BusboyInstance): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  form.once('finish', () => resolve(undefined));
  request.pipe(form);
  return promise;
}

function open({ headers }: IncomingMessage): BusboyInstance {
  const type = headers['content-type'] ?? '';
  if (!/^multipart\/form-data\b/i.test(type)) {
    throw ApiError.of('unsupported_media_type', "Send a form with 'content-type: multipart/form-data'.");
  }
  if (headers['content-encoding'] !== undefined) {
    throw ApiError.of('unsupported_content_encoding', 'Forms are not accepted in a compressed form.');
  }
  try {
    return new Busboy({ headers: { ...headers, 'content-type': type }, limits: LIMITS, defCharset: 'utf8' });
  } catch (error) {
    throw malformed(error);
  }
}

function doubled(field: string): ApiError {
  const message = `The form has the field '${field}' twice: expected one value.`;
  return ApiError.of('invalid_value', message, { param: field });
}

function malformed(cause: unknown): ApiError {
  const reason = cause instanceof Error ? `: ${cause.message.slice(0, 100)}` : '';
  return ApiError.of('invalid_value', `The body is not a valid form${reason}.`, { cause });
}
