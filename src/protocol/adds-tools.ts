/** Whether items of this type add tools to those of the request (protocol §3.1). */
export function addsTools(type: unknown): boolean {
  return type === 'additional_tools' || type === 'tool_search_output';
}
