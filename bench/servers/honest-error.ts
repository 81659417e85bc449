/** The body that refuses a request, whatever is wrong with it. */
export function toRefusal(error: unknown): object {
  const message = error instanceof Error ? error.message : String(error);
  return { error: { message, type: 'invalid_request_error', param: null, code: null } };
}
