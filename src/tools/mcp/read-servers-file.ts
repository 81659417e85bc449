import { readFile } from 'node:fs/promises';

import {
  EnvironmentError,
  faultsOf,
  isSafeUrl,
  parseSecretFile,
  requireSchema,
  resolveReferences,
} from '../../config/index.js';
import { faultOfHeader } from './headers.js';
import { type McpServerEntry, SERVERS_SCHEMA, type ServersFile } from './servers-file.js';

/**
 * Reads and validates MCP_SERVERS. Throws EnvironmentError with all faults and their places, without quoting the file, which contains
 * credentials.
 */
export async function readServersFile(path: string): Promise<ServersFile> {
  const refuse = (faults: readonly string[]): EnvironmentError =>
    new EnvironmentError(faults.map((fault) => `MCP_SERVERS: ${path}: ${fault}.`));
  try {
    const content = await parseSecretFile(path, await readFile(path, 'utf8'));
    const { value, unset } = resolveReferences(content, process.env);
    if (unset.length > 0) throw refuse(unset);
    const file = requireSchema<ServersFile>(value ?? {}, SERVERS_SCHEMA, { isSecret: true });
    const { servers = {}, connectors = {} } = file;
    const faults = [
      ...Object.entries(servers).flatMap(([label, entry]) =>
        [...faultsOfServer(entry)].map((fault) => `servers.${label}.${fault}`),
      ),
      ...Object.entries(connectors).flatMap(([id, label]) =>
        Object.hasOwn(servers, label) ? [] : [`connectors.${id} must be the label of a server`],
      ),
    ];
    if (faults.length > 0) throw refuse(faults);
    return file;
  } catch (error) {
    throw error instanceof EnvironmentError ? error : refuse(faultsOf(error));
  }
}

/** What no schema can say. */
function* faultsOfServer({ url, headers = {}, authorization, oauth, forward = [] }: McpServerEntry): Generator<string> {
  if (!URL.canParse(url)) yield 'url must be an http or https URL';
  for (const [name, value] of Object.entries(headers)) {
    const fault = faultOfHeader(name, value);
    if (fault !== undefined) yield `headers ${fault}`;
  }
  for (const [index, name] of forward.entries()) {
    if (faultOfHeader(name, '') !== undefined) yield `forward[${index}] must be a header that clients may set`;
  }
  if (authorization !== undefined && faultOfHeader('authorization', authorization) !== undefined) {
    yield 'authorization must be a token';
  }
  const own = [
    authorization !== undefined,
    oauth !== undefined,
    Object.keys(headers).some((name) => name.toLowerCase() === 'authorization'),
  ];
  if (own.filter(Boolean).length > 1) yield 'authorization must be given in one way: authorization, headers or oauth';
  if (oauth !== undefined && !isSafeUrl(oauth.token_url)) yield 'oauth.token_url must begin with https://';
}
