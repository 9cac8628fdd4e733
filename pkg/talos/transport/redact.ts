/**
 * Takes out of a machine's message what may be key material. Talos quotes the part
 * of a configuration that it does not accept (an unknown `key` beside an accepted
 * CA, for example), with its value.
 */
export function redact(message: string): string {
  return message
    .replaceAll(/-----BEGIN[\s\S]*?(?:-----END[^\n]*-----|$)/g, '[redacted]')
    .replaceAll(/[A-Za-z0-9+/_-]{32,}={0,2}/g, '[redacted]');
}
