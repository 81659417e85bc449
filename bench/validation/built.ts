import type * as Dto from '../../src/responses/dto/index.ts';

// The built service. The package does not export these functions, which only its transports use.
const dto = (await import(new URL('../../dist/responses/dto/index.js', import.meta.url).href)) as typeof Dto;

/** The service's default for unknown members. Without a search for typos, because the requests have none. */
const OPTIONS = { unknownParameters: 'typos' } as const;

/** A validated request. */
export type CreateRequest = ReturnType<typeof dto.validateCreateRequest>;

/** Validates the body of a request with the service's compiled rules. Throws ApiError. */
export function checkRequest(body: unknown): CreateRequest {
  return dto.validateCreateRequest(body, OPTIONS);
}

/** Validates a `response.create` likewise. Unknown members, such as its envelope, are ignored. */
export function checkFrame(frame: unknown): CreateRequest {
  return dto.validateCreateEvent(frame, OPTIONS).request;
}
