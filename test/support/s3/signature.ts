import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Whose signature it should be. */
export interface SigningKey {
  readonly AWS_ACCESS_KEY_ID: string;
  readonly AWS_SECRET_ACCESS_KEY: string;
}

/** Checks the signature of a request, as Signature Version 4 of AWS describes it; the code of what is wrong, as S3 has it. */
export function faultOfSignature(request: IncomingMessage, body: Buffer, key: SigningKey): string | undefined {
  const { headers, method = '', url = '' } = request;
  const found =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (found === null) return 'AccessDenied';
  const [, accessKey, date = '', region = '', signed = '', signature] = found;
  if (accessKey !== key.AWS_ACCESS_KEY_ID) return 'InvalidAccessKeyId';
  if (headers['x-amz-content-sha256'] !== sha256(body)) return 'XAmzContentSHA256Mismatch';
  const [path = '', query = ''] = url.split('?');
  const pairs = query === '' ? [] : query.split('&').sort();
  const lines = signed.split(';').map((name) => `${name}:${String(headers[name]).trim().replace(/\s+/g, ' ')}\n`);
  const canonical = [method, path, pairs.join('&'), lines.join(''), signed, sha256(body)].join('\n');
  const scope = `${date}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(Buffer.from(canonical))].join('\n');
  const secret = [date, region, 's3', 'aws4_request'].reduce<Buffer>(
    (parent, part) => createHmac('sha256', parent).update(part).digest(),
    Buffer.from(`AWS4${key.AWS_SECRET_ACCESS_KEY}`),
  );
  const expected = createHmac('sha256', secret).update(text).digest('hex');
  return signature === expected ? undefined : 'SignatureDoesNotMatch';
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
