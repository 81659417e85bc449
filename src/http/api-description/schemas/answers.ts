import type { JsonSchema } from '../../../validation/index.js';
import { ACTIVITY_SCHEMAS } from './activity.js';
import {
  FLAG,
  INTEGER,
  listOf,
  NOTHING,
  nullable,
  object,
  OBJECT,
  oneOf,
  pageOf,
  ref,
  SECONDS,
  TEXT,
} from './shape.js';

const TRUE: JsonSchema = { type: 'boolean', const: true };

const deleted = (name: string): JsonSchema => object({ id: TEXT, object: oneOf(name), deleted: TRUE });

/** A page that is all there is, in the form that the SDK reads with `next_page`. */
const wholePage = (name: string, element: JsonSchema, others: Readonly<Record<string, JsonSchema>> = {}): JsonSchema =>
  object({
    object: oneOf(name),
    data: listOf(element),
    has_more: { type: 'boolean', const: false },
    next_page: { type: 'null' },
    ...others,
  });

const TEXT_PART: JsonSchema = object({ type: oneOf('text'), text: TEXT });

const ATTRIBUTES: JsonSchema = {
  type: 'object',
  additionalProperties: { anyOf: [TEXT, { type: 'number' }, { type: 'boolean' }] },
};

const FILE_COUNTS: JsonSchema = object({
  in_progress: INTEGER,
  completed: INTEGER,
  failed: INTEGER,
  cancelled: INTEGER,
  total: INTEGER,
});

/** The bodies of answers besides Responses. */
export const ANSWER_SCHEMAS = {
  Error: object({
    error: object({ message: TEXT, type: TEXT, param: nullable(TEXT), code: nullable(ref('ErrorCode')) }),
  }),
  AnthropicError: object({
    type: oneOf('error'),
    error: object(
      { type: { ...TEXT, description: 'With `overloaded_error`, the status is 529.' }, message: TEXT },
      { details: object({ error_code: TEXT, unsupported: listOf(TEXT) }) },
    ),
    request_id: TEXT,
  }),
  AnthropicMessage: object({
    id: TEXT,
    type: oneOf('message'),
    role: oneOf('assistant'),
    model: TEXT,
    content: listOf(
      object(
        { type: oneOf('text', 'thinking', 'tool_use') },
        {
          ...{ text: TEXT, citations: NOTHING, thinking: TEXT, signature: TEXT },
          ...{ id: TEXT, name: TEXT, input: OBJECT, caller: object({ type: oneOf('direct') }) },
        },
      ),
    ),
    stop_reason: nullable(oneOf('end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal')),
    stop_sequence: nullable(TEXT),
    stop_details: nullable(OBJECT),
    container: NOTHING,
    diagnostics: NOTHING,
    usage: object({
      input_tokens: INTEGER,
      output_tokens: INTEGER,
      cache_creation_input_tokens: INTEGER,
      cache_read_input_tokens: INTEGER,
      output_tokens_details: nullable(object({ thinking_tokens: INTEGER })),
      service_tier: oneOf('standard'),
      ...{ cache_creation: NOTHING, inference_geo: NOTHING, server_tool_use: NOTHING, speed: NOTHING },
    }),
  }),
  AnthropicEvent: object({
    type: oneOf(
      ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta'],
      ...['message_stop', 'ping', 'error'],
    ),
  }),
  AnthropicTokens: object({ input_tokens: INTEGER }),
  ResponseList: pageOf('Response'),
  ChatCompletionList: pageOf('ChatCompletion'),
  ChatMessageList: pageOf('ChatMessage'),
  DeletedResponse: deleted('response'),
  ItemList: pageOf('Item'),
  InputTokens: object({ object: oneOf('response.input_tokens'), input_tokens: INTEGER }),
  CompactedResponse: object({
    id: TEXT,
    object: oneOf('response.compaction'),
    created_at: SECONDS,
    output: listOf(ref('Item')),
    usage: nullable(ref('Usage')),
  }),
  ResponseTreeNode: object({
    id: TEXT,
    object: oneOf('response.tree_node'),
    response: ref('Response'),
    children: ref('ResponseTreeNodeList'),
  }),
  ResponseTreeNodeList: pageOf('ResponseTreeNode'),
  ResponseTree: object({ object: oneOf('response.tree'), root: ref('ResponseTreeNode') }),
  Conversation: object({
    id: TEXT,
    object: oneOf('conversation'),
    created_at: SECONDS,
    metadata: { type: 'object', additionalProperties: TEXT },
  }),
  DeletedConversation: deleted('conversation.deleted'),
  File: object(
    {
      id: TEXT,
      object: oneOf('file'),
      bytes: INTEGER,
      created_at: SECONDS,
      filename: TEXT,
      purpose: TEXT,
      status: oneOf('processed'),
      sha256: { ...TEXT, description: 'Of the content, in hexadecimal digits.' },
    },
    { expires_at: SECONDS },
  ),
  FileList: pageOf('File'),
  DeletedFile: deleted('file'),
  Upload: object({
    id: TEXT,
    object: oneOf('upload'),
    bytes: INTEGER,
    created_at: SECONDS,
    expires_at: SECONDS,
    filename: TEXT,
    purpose: TEXT,
    status: oneOf('pending', 'completed', 'cancelled'),
    file: nullable(ref('File')),
  }),
  UploadPart: object({ id: TEXT, object: oneOf('upload.part'), created_at: SECONDS, upload_id: TEXT }),
  VectorStore: object(
    {
      id: TEXT,
      object: oneOf('vector_store'),
      created_at: SECONDS,
      name: TEXT,
      description: TEXT,
      usage_bytes: { ...INTEGER, description: 'Of the chunks of its files.' },
      file_counts: FILE_COUNTS,
      status: oneOf('in_progress', 'completed', 'expired'),
      expires_at: nullable(SECONDS),
      last_active_at: SECONDS,
      metadata: { type: 'object', additionalProperties: TEXT },
    },
    { expires_after: object({ anchor: oneOf('last_active_at'), days: INTEGER }) },
  ),
  VectorStoreList: pageOf('VectorStore'),
  DeletedVectorStore: deleted('vector_store.deleted'),
  VectorStoreFile: object({
    id: TEXT,
    object: oneOf('vector_store.file'),
    created_at: SECONDS,
    vector_store_id: TEXT,
    usage_bytes: INTEGER,
    status: oneOf('in_progress', 'completed', 'failed', 'cancelled'),
    last_error: nullable(object({ code: oneOf('server_error', 'unsupported_file', 'invalid_file'), message: TEXT })),
    attributes: ATTRIBUTES,
    chunking_strategy: object({
      type: oneOf('static'),
      static: object({ max_chunk_size_tokens: INTEGER, chunk_overlap_tokens: INTEGER }),
    }),
  }),
  VectorStoreFileList: pageOf('VectorStoreFile'),
  DeletedVectorStoreFile: deleted('vector_store.file.deleted'),
  VectorStoreFileContent: wholePage('vector_store.file_content.page', TEXT_PART),
  VectorStoreFileBatch: object({
    id: TEXT,
    object: oneOf('vector_store.files_batch'),
    created_at: SECONDS,
    vector_store_id: TEXT,
    status: oneOf('in_progress', 'completed', 'cancelled'),
    file_counts: FILE_COUNTS,
  }),
  VectorStoreSearch: wholePage(
    'vector_store.search_results.page',
    object({
      file_id: TEXT,
      filename: TEXT,
      score: { type: 'number' },
      attributes: ATTRIBUTES,
      content: listOf(TEXT_PART),
    }),
    { search_query: listOf(TEXT) },
  ),
  ForkedSession: object({
    id: TEXT,
    object: oneOf('session'),
    forked_from: TEXT,
    responses: { ...INTEGER, description: 'The number of shared responses.' },
  }),
  DeletedSession: deleted('session'),
  Prompt: object({
    id: TEXT,
    object: oneOf('prompt'),
    default_version: TEXT,
    versions: listOf(
      object({
        version: TEXT,
        instructions: nullable(TEXT),
        input: listOf({ type: 'object' }),
        settings: { type: 'object', description: 'Members of the request that it brings.' },
        variables: listOf(TEXT),
      }),
    ),
  }),
  PromptList: pageOf('Prompt'),
  Model: object({ id: TEXT, object: oneOf('model'), created: SECONDS, owned_by: TEXT }),
  ModelList: object({
    object: oneOf('list'),
    data: listOf(ref('Model')),
    models: { ...listOf({}), maxItems: 0, description: 'Empty: Codex looks for models of its own kind here.' },
  }),
  EmbeddingList: object({
    object: oneOf('list'),
    data: listOf(
      object({
        object: oneOf('embedding'),
        index: INTEGER,
        embedding: {
          anyOf: [listOf({ type: 'number' }), TEXT],
          description: 'Base64 of little-endian floats if asked for.',
        },
      }),
    ),
    model: TEXT,
    usage: object({ prompt_tokens: INTEGER, total_tokens: INTEGER }),
  }),
  ...ACTIVITY_SCHEMAS,
  SocketToken: object({ object: oneOf('socket_token'), value: TEXT, expires_at: SECONDS, origin: TEXT }),
  UsageResult: object(
    {
      object: oneOf('usage.result'),
      turns: INTEGER,
      input_tokens: INTEGER,
      input_cached_tokens: INTEGER,
      output_tokens: INTEGER,
      reasoning_tokens: INTEGER,
    },
    { tenant: TEXT, model: TEXT, provider: nullable(TEXT), key_id: nullable(TEXT) },
  ),
  UsageBucket: object({
    object: oneOf('bucket'),
    start_time: SECONDS,
    end_time: SECONDS,
    results: listOf(ref('UsageResult')),
  }),
  UsagePage: object({
    object: oneOf('page'),
    data: listOf(ref('UsageBucket')),
    has_more: FLAG,
    next_page: nullable(TEXT),
  }),
  RetiredConnection: deleted('connection'),
} as const satisfies Readonly<Record<string, JsonSchema>>;
