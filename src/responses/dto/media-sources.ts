import { type Check, clip, described, type JsonSchema, Violation } from '../../validation/index.js';

/** Characters that are decoded at a time: a multiple of four. */
const WINDOW = 64 * 1024;

const decoded = Buffer.allocUnsafeSlow((WINDOW / 4) * 3);

const IMAGE_DATA =
  "Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU=')";
const FILE_DATA = "Expected a base64-encoded data URL (e.g. 'data:application/pdf;base64,SGVsbG8sIFdvcmxkIQ==')";

const DATA_SCHEME = /^data:/i;
const WEB_HOST = /^https?:\/\/([^\s/?#\\]+)/i;
const ASCII = /^[\x21-\x7e]+$/;

/** With credentials and a port; a name alone has at most 253 characters. */
const LONGEST_HOST = 512;

type Source = string | null | undefined;

const checkImage: Check = (value, { tolerated }) => {
  if (tolerated?.has('images') === true) return null;
  const { image_url: url, file_id: id } = value as { readonly image_url?: Source; readonly file_id?: Source };
  if (url == null && id == null)
    return invalid("Expected one of 'image_url' or 'file_id', but got neither.").under('image_url');
  if (url == null) return idViolation(id);
  const violation = DATA_SCHEME.test(url) ? dataViolation(url, IMAGE_DATA, isImage) : urlViolation(url);
  return violation?.under('image_url') ?? idViolation(id);
};

const checkFile: Check = (value, { tolerated }) => {
  if (tolerated?.has('files') === true) return null;
  const { file_data: data, file_id: id, file_url: url } = value as Readonly<Record<string, Source>>;
  if (data == null && id == null && url == null) {
    return invalid("Expected one of 'file_data', 'file_id', or 'file_url', but got none of them.").under('file_data');
  }
  const dataFault = data == null ? null : fileDataViolation(data);
  if (dataFault !== null) return dataFault.under('file_data');
  return idViolation(id) ?? (url == null ? null : (urlViolation(url)?.under('file_url') ?? null));
};

/** An object with one of these members. Whether an URL or data are well-formed is beyond JSON Schema. */
const withOneOf = (...members: readonly string[]): JsonSchema => ({
  anyOf: members.map((member) => ({ required: [member], properties: { [member]: { type: 'string', minLength: 1 } } })),
});

/** The source of an `input_image` whose members have the right types: an URL, image data, or the id of a file. */
export const imageSource = described(checkImage, withOneOf('image_url', 'file_id'));

/** The source of an `input_file` whose members have the right types: data, the id of a file, or an URL. */
export const fileSource = described(checkFile, withOneOf('file_data', 'file_id', 'file_url'));

/** The data of a file: a data URL, or, as the types of SDKs have it, base64 alone. */
function fileDataViolation(data: string): Violation | null {
  if (DATA_SCHEME.test(data)) return dataViolation(data, FILE_DATA, isAny);
  return isBase64(data) ? null : invalidData(FILE_DATA, data === '');
}

function dataViolation(url: string, expected: string, accepts: (mimeType: string) => boolean): Violation | null {
  const comma = url.indexOf(',');
  const header = comma === -1 ? '' : url.slice('data:'.length, comma).toLowerCase();
  const [mimeType = ''] = header.split(';', 1);
  if (comma !== -1 && !accepts(mimeType))
    return invalid(`${expected}, but got unsupported MIME type '${clip(mimeType)}'.`);
  if (header.endsWith(';base64') && isBase64(url, comma + 1)) return null;
  return invalidData(expected, comma === url.length - 1);
}

function isImage(mimeType: string): boolean {
  return mimeType.startsWith('image/') && mimeType.length > 'image/'.length;
}

function isAny(): boolean {
  return true;
}

function urlViolation(url: string): Violation | null {
  const host = WEB_HOST.exec(url)?.[1];
  // Node parses a host beyond ASCII in quadratic time; resolving it shows whether it exists.
  if (host !== undefined && (!ASCII.test(host) || (host.length <= LONGEST_HOST && URL.canParse(url)))) return null;
  return invalid('Expected a valid URL, but got a value with an invalid format.');
}

function idViolation(id: Source): Violation | null {
  return id === '' ? invalid('Expected the ID of a file, but got an empty string.').under('file_id') : null;
}

function invalidData(expected: string, isEmpty: boolean): Violation {
  const got = isEmpty ? 'empty base64-encoded bytes' : 'an invalid base64-encoded value';
  return invalid(`${expected}, but got ${got}.`);
}

function invalid(reason: string): Violation {
  return new Violation('invalid_value', (path) => `Invalid '${path}'. ${reason}`);
}

/**
 * Whether a text is base64 from a position on: not empty, in groups of four, padded. Ten megabytes take about six
 * milliseconds; a regular expression takes more than twice as long. The native decoder skips what is not base64, so the
 * number of bytes shows whether everything was.
 */
function isBase64(text: string, from = 0): boolean {
  const length = text.length - from;
  if (length <= 0 || length % 4 !== 0) return false;
  // The decoder also takes the alphabet for URLs.
  if (text.includes('-', from) || text.includes('_', from)) return false;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  for (let start = from; start < text.length; start += WINDOW) {
    const window = text.slice(start, start + WINDOW);
    // Of a character beyond Latin-1 the decoder reads only the lower byte.
    if (Buffer.byteLength(window) !== window.length) return false;
    const isLast = start + WINDOW >= text.length;
    if (decoded.write(window, 'base64') !== (window.length / 4) * 3 - (isLast ? padding : 0)) return false;
  }
  return true;
}
