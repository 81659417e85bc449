import type { ResponseError } from 'openai/resources/responses/responses';

type ImageError = Extract<ResponseError['code'], `${string}image${string}`>;

/** Codes of `response.error` (protocol §5) for images that only the model finds out to be unusable. */
export const IMAGE_ERRORS: ReadonlySet<string | null> = new Set<ImageError>([
  'empty_image_file',
  'failed_to_download_image',
  'image_content_policy_violation',
  'image_file_not_found',
  'image_file_too_large',
  'image_parse_error',
  'image_too_large',
  'image_too_small',
  'invalid_base64_image',
  'invalid_image',
  'invalid_image_format',
  'invalid_image_mode',
  'invalid_image_url',
  'unsupported_image_media_type',
]);
