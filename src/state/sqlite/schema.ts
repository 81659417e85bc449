import { VECTOR_STORES } from './schema-vector-stores.js';

/** Marks a file as ours: its `application_id`, "Anti". */
export const APPLICATION_ID = 0x416e7469;

/**
 * The steps that lead to the schema, by the version that each one makes. Texts of users and clients are stored as
 * `toKey` makes them; times are milliseconds since the epoch, `created_at` is in seconds; bodies are JSON.
 */
export const MIGRATIONS: readonly string[] = [
  `
  -- Rows of other tables name a tenant by its number. \`name\` is JSON, so that every text can be read back.
  CREATE TABLE tenants (owner INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL) STRICT;

  -- Short columns first: a walk along a chain reads no texts.
  CREATE TABLE responses (
    response INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL,
    id TEXT NOT NULL,
    -- The response that it continues, which is stored as long as it is needed.
    parent INTEGER,
    -- The session that it was made in.
    session_id TEXT NOT NULL,
    status TEXT NOT NULL,
    model TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    -- 0: it was deleted.
    expires_at INTEGER NOT NULL,
    is_continuable INTEGER NOT NULL,
    -- The conversation that it was made in, and where it stands there.
    conversation INTEGER,
    conversation_end INTEGER,
    -- Bytes of the body with its output, and of all its items.
    size INTEGER NOT NULL,
    items_size INTEGER NOT NULL,
    origin TEXT,
    -- The Response without its output.
    body TEXT NOT NULL,
    -- Items as comma-separated texts, null without any.
    inherited TEXT,
    input TEXT,
    output TEXT,
    -- The output with the items that were given to the model in between, if there are any.
    output_with_given TEXT,
    UNIQUE (owner, id)
  ) STRICT;
  CREATE INDEX responses_by_parent ON responses (parent, created_at, id) WHERE parent IS NOT NULL;
  CREATE INDEX responses_by_time ON responses (owner, created_at, id);
  CREATE INDEX responses_by_expiry ON responses (expires_at);
  CREATE INDEX responses_by_conversation ON responses (conversation) WHERE conversation IS NOT NULL;
  CREATE INDEX queued_responses ON responses (owner, created_at) WHERE status = 'queued' AND expires_at > 0;

  -- The responses of sessions. is_fork: it was made in another session, so that those of a response are found.
  CREATE TABLE session_responses (
    owner INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    id TEXT NOT NULL,
    response INTEGER NOT NULL,
    is_fork INTEGER NOT NULL,
    PRIMARY KEY (owner, session_id, created_at, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX forks_by_response ON session_responses (response) WHERE is_fork = 1;

  -- Metadata pairs of responses, as \`toLabels\` makes them.
  CREATE TABLE labels (
    label TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    id TEXT NOT NULL,
    response INTEGER NOT NULL,
    PRIMARY KEY (label, created_at, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX labels_by_response ON labels (response);

  -- Where input and output items are: their place in the column of their response.
  CREATE TABLE item_places (
    owner INTEGER NOT NULL,
    key TEXT NOT NULL,
    response INTEGER NOT NULL,
    is_output INTEGER NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (owner, key, response)
  ) STRICT, WITHOUT ROWID;

  -- Background responses. log_expires_at: null until it has ended, 0 once its events are gone.
  CREATE TABLE runs (
    response INTEGER PRIMARY KEY,
    turn TEXT NOT NULL,
    is_stream INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    log_expires_at INTEGER
  ) STRICT;
  CREATE INDEX runs_by_log_expiry ON runs (log_expires_at) WHERE log_expires_at > 0;

  CREATE TABLE event_log (
    response INTEGER NOT NULL,
    first_event INTEGER NOT NULL,
    first_note INTEGER NOT NULL,
    events TEXT NOT NULL,
    notes TEXT,
    has_items INTEGER NOT NULL,
    PRIMARY KEY (response, first_event, first_note)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE conversations (
    conversation INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL,
    id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    version INTEGER NOT NULL,
    end_position INTEGER NOT NULL,
    items_size INTEGER NOT NULL,
    is_deleted INTEGER NOT NULL DEFAULT 0,
    UNIQUE (owner, id)
  ) STRICT;
  CREATE INDEX deleted_conversations ON conversations (conversation) WHERE is_deleted = 1;

  CREATE TABLE conversation_items (
    conversation INTEGER NOT NULL,
    position INTEGER NOT NULL,
    is_given INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (conversation, position)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX conversation_items_by_key ON conversation_items (owner, key, conversation, position);

  -- Jobs that are not done, oldest first; attempts: deliveries so far.
  CREATE TABLE jobs (
    number INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    data TEXT NOT NULL,
    attempts INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  `,
  `
  -- What turns have used, one row per turn. It outlives the responses. Names are JSON.
  CREATE TABLE usage (
    response_id TEXT PRIMARY KEY,
    owner_key TEXT NOT NULL,
    ended_at INTEGER NOT NULL,
    input INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    output INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    background INTEGER NOT NULL,
    transport TEXT NOT NULL,
    status TEXT NOT NULL,
    tenant TEXT NOT NULL,
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX usage_by_tenant ON usage (owner_key, ended_at);
  CREATE INDEX usage_by_time ON usage (ended_at);
  `,
  `
  -- Where responses stood in their lists that were deleted or have expired. labels, sessions: JSON.
  CREATE TABLE bookmarks (
    owner INTEGER NOT NULL,
    id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    parent_id TEXT,
    model TEXT NOT NULL,
    status TEXT NOT NULL,
    labels TEXT NOT NULL,
    sessions TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX bookmarks_by_expiry ON bookmarks (expires_at);

  -- Where items stood in their conversations that were deleted.
  CREATE TABLE item_bookmarks (
    conversation INTEGER NOT NULL,
    key TEXT NOT NULL,
    position INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (conversation, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX item_bookmarks_by_expiry ON item_bookmarks (expires_at);
  `,
  `
  -- What only one may have, until a time. \`holder\` is JSON, so that every text can be read back.
  CREATE TABLE claims (
    owner INTEGER NOT NULL,
    name TEXT NOT NULL,
    holder TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (owner, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX claims_by_expiry ON claims (expires_at);
  `,
  `
  -- Files, parts of uploads, and drafts, which become one of them. about: the record of a file, as JSON.
  CREATE TABLE files (
    content INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    upload_id TEXT,
    purpose TEXT,
    about TEXT,
    UNIQUE (owner, id)
  ) STRICT;
  CREATE INDEX files_by_time ON files (owner, created_at, id) WHERE kind = 'file';
  CREATE INDEX files_by_upload ON files (owner, upload_id) WHERE upload_id IS NOT NULL;
  CREATE INDEX files_by_expiry ON files (expires_at);

  -- Equal pieces of a tenant are stored once. uses: how many places have one.
  CREATE TABLE file_pieces (
    piece INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL,
    hash TEXT NOT NULL,
    uses INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    UNIQUE (owner, hash)
  ) STRICT;

  CREATE TABLE file_places (
    content INTEGER NOT NULL,
    position INTEGER NOT NULL,
    piece INTEGER NOT NULL,
    PRIMARY KEY (content, position)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE file_uploads (
    owner INTEGER NOT NULL,
    id TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    about TEXT NOT NULL,
    PRIMARY KEY (owner, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX file_uploads_by_expiry ON file_uploads (expires_at);
  `,
  ...VECTOR_STORES,
  `
  -- The object of a bucket that has the bytes of a piece, and its length; the row has none then.
  ALTER TABLE file_pieces ADD COLUMN object TEXT;
  ALTER TABLE file_pieces ADD COLUMN length INTEGER;

  -- Objects that no piece has: those that are being written, and those to delete. due_at: when one is deleted; 0 or
  -- less: no piece can have it any more, and when its deletion was tried last.
  CREATE TABLE file_objects (name TEXT PRIMARY KEY, due_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX file_objects_by_time ON file_objects (due_at);
  `,
];

/** The version of this schema: the `user_version` of a file. A file with a greater one is refused. */
export const SCHEMA_VERSION = MIGRATIONS.length;
