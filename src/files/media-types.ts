/** What is not known. */
const UNKNOWN = 'application/octet-stream';

/** What says nothing. */
const GENERAL: ReadonlySet<string | undefined> = new Set(['', UNKNOWN, 'binary/octet-stream']);

/** Types of files that models are given, by the ends of their names. */
const BY_EXTENSION: ReadonlyMap<string, string> = new Map([
  ['pdf', 'application/pdf'],
  ['html', 'text/html'],
  ['htm', 'text/html'],
  ['txt', 'text/plain'],
  ['md', 'text/markdown'],
  ['csv', 'text/csv'],
  ['json', 'application/json'],
  ['xml', 'application/xml'],
  ['yaml', 'application/yaml'],
  ['yml', 'application/yaml'],
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
  ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['odt', 'application/vnd.oasis.opendocument.text'],
]);

/** The media type of a file: what its sender has said or, where that says nothing, what its name does. */
export function mediaTypeOfName(name: string, stated: string | null): string {
  const known = stated?.trim().toLowerCase() ?? '';
  if (!GENERAL.has(known.split(';', 1)[0]?.trim())) return known;
  const extension = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  return BY_EXTENSION.get(extension) ?? UNKNOWN;
}
