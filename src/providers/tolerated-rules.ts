/**
 * The rules of OpenAI that a provider may lift for its models (docs/providers.md):
 *
 * - `images`, `files`: a part has a source, which is a URL, an id or valid base64
 * - `required_tools`: `tool_choice: "required"` needs tools
 * - `strict_schemas`: a schema with `strict: true` keeps to the subset of Structured Outputs
 * - `json_object`: the input asks for JSON if `text.format` is `json_object`
 */
export const TOLERATED_RULES = ['images', 'files', 'required_tools', 'strict_schemas', 'json_object'] as const;

/** One of TOLERATED_RULES. */
export type ToleratedRule = (typeof TOLERATED_RULES)[number];

/** Every rule applies. */
export const NO_RULES: ReadonlySet<ToleratedRule> = new Set();
