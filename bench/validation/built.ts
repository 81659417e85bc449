import type * as Dto from '../../src/responses/dto/index.ts';

// The service as it is built; nobody but its transports needs these functions, so the package does not export them.
const dto = (await import(new URL('../../dist/responses/dto/index.js', import.meta.url).href)) as typeof Dto;

/** As the service has them without a word about them. */
const OPTIONS = { unknownParameters: 'ignore', forwarded: new Set<string>() } as const;

/** A checked request. */
export type CreateRequest = ReturnType<typeof dto.validateCreateRequest>;

/** Checks the body of a request with the service's own compiled rules. Throws the service's ApiError. */
export function checkRequest(body: unknown): CreateRequest {
  return dto.validateCreateRequest(body, OPTIONS);
}

/** Checks a `response.create` likewise. Its envelope may be there: members that nobody knows are ignored. */
export function checkFrame(frame: unknown): CreateRequest {
  return dto.validateCreateEvent(frame, OPTIONS).request;
}
