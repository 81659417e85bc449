/** The body of any error response. */
export function toRefusal(error: unknown): object {
  const message = error instanceof Error ? error.message : String(error);
  return { error: { message, type: 'invalid_request_error', param: null, code: null } };
}
