import type { StrictCase } from './strictness-case.js';

const IMAGE_DATA =
  "Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU=')";
const FILE_DATA = "Expected a base64-encoded data URL (e.g. 'data:application/pdf;base64,SGVsbG8sIFdvcmxkIQ==')";
const NO_URL = 'Expected a valid URL, but got a value with an invalid format.';
const NO_ID = 'Expected the ID of a file, but got an empty string.';

/** A message with a part beside its text. */
export const withPart = (part: object): object => ({
  input: [{ role: 'user', content: [{ type: 'input_text', text: 'Look.' }, part] }],
});

/** A part that is refused for a member. */
function part(rule: 'images' | 'files', name: string, members: object, at: string, reason: string): StrictCase {
  const type = rule === 'images' ? 'input_image' : 'input_file';
  const param = `input[0].content[1].${at}`;
  const error = { code: 'invalid_value', param, message: `Invalid '${param}'. ${reason}` };
  return { name, rule, body: withPart({ type, ...members }), error };
}

const got = (expected: string, what: string): string => `${expected}, but got ${what}.`;
const NOT_BASE64 = 'an invalid base64-encoded value';
const image = (name: string, url: string, reason: string): StrictCase =>
  part('images', `an image ${name}`, { image_url: url }, 'image_url', reason);
const file = (name: string, data: string, reason: string): StrictCase =>
  part('files', `a file ${name}`, { file_data: data }, 'file_data', reason);

/** Pictures and files that no model could read. */
export const MEDIA_CASES: readonly StrictCase[] = [
  part('images', 'an image of nothing', {}, 'image_url', "Expected one of 'image_url' or 'file_id', but got neither."),
  part(
    'images',
    'an image of null',
    { image_url: null, file_id: null },
    'image_url',
    "Expected one of 'image_url' or 'file_id', but got neither.",
  ),
  part('images', 'an image of an empty id', { file_id: '' }, 'file_id', NO_ID),
  image('of an empty URL', '', NO_URL),
  image('of a path', '/picture.png', NO_URL),
  image('of another scheme', 'ftp://example.com/a.png', NO_URL),
  image('of a URL without a host', 'https://', NO_URL),
  image('of base64 alone', 'iVBORw0KGgo=', NO_URL),
  image('of text', 'data:text/plain;base64,SGk=', got(IMAGE_DATA, "unsupported MIME type 'text/plain'")),
  image('of no type', 'data:;base64,SGk=', got(IMAGE_DATA, "unsupported MIME type ''")),
  image('without data', 'data:image/png;base64,', got(IMAGE_DATA, 'empty base64-encoded bytes')),
  image('that ends early', 'data:', got(IMAGE_DATA, NOT_BASE64)),
  image('that is not base64', 'data:image/png;base64,not base64!!', got(IMAGE_DATA, NOT_BASE64)),
  image('in the alphabet for URLs', 'data:image/png;base64,iVBO-_0K', got(IMAGE_DATA, NOT_BASE64)),
  image('of letters that look like others', 'data:image/png;base64,iVB\u0141', got(IMAGE_DATA, NOT_BASE64)),
  image('of half a group', 'data:image/png;base64,iVBOR', got(IMAGE_DATA, NOT_BASE64)),
  image('with padding inside', 'data:image/png;base64,iV==iVBO', got(IMAGE_DATA, NOT_BASE64)),
  image('that is percent-encoded', 'data:image/svg+xml,%3Csvg%2F%3E', got(IMAGE_DATA, NOT_BASE64)),
  part(
    'files',
    'a file of nothing',
    {},
    'file_data',
    "Expected one of 'file_data', 'file_id', or 'file_url', but got none of them.",
  ),
  part(
    'files',
    'a file with nothing but a name',
    { filename: 'a.pdf' },
    'file_data',
    "Expected one of 'file_data', 'file_id', or 'file_url', but got none of them.",
  ),
  part('files', 'a file of an empty id', { file_id: '' }, 'file_id', NO_ID),
  part('files', 'a file of no URL', { file_url: 'a.pdf' }, 'file_url', NO_URL),
  file('without data', '', got(FILE_DATA, 'empty base64-encoded bytes')),
  file('without data behind its type', 'data:application/pdf;base64,', got(FILE_DATA, 'empty base64-encoded bytes')),
  file('that is not base64', 'data:application/pdf;base64,?', got(FILE_DATA, NOT_BASE64)),
  file('that is plain text', 'Hello!', got(FILE_DATA, NOT_BASE64)),
  {
    name: 'an image in the output of a call',
    rule: 'images',
    body: {
      input: [
        { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_image', image_url: 'x' }] },
      ],
    },
    error: {
      code: 'invalid_value',
      param: 'input[1].output[0].image_url',
      message: `Invalid 'input[1].output[0].image_url'. ${NO_URL}`,
    },
  },
];
