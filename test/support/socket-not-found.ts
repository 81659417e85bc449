/** What is known of the error frame for a parent that cannot be continued (protocol §6.9). */
export function notFound(id: string): { readonly type: 'error'; readonly status: 400; readonly error: object } {
  return {
    type: 'error',
    status: 400,
    error: {
      type: 'invalid_request_error',
      code: 'previous_response_not_found',
      param: 'previous_response_id',
      message: `Previous response with id '${id}' not found.`,
    },
  };
}
