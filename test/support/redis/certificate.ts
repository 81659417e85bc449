import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A certificate for 127.0.0.1 that signs itself. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** Makes one in a directory, with `openssl`. */
export async function makeCertificate(directory: string): Promise<Certificate> {
  const key = join(directory, 'key.pem');
  const certificate = join(directory, 'certificate.pem');
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const files = ['-keyout', key, '-out', certificate];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  await promisify(execFile)('openssl', ['req', '-x509', ...kind, ...subject, ...files]);
  return { certificate, key };
}
