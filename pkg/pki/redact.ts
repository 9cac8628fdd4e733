/**
 * Takes out of somebody else's text what may be key material: PEM of any kind, also one that does not end, and every
 * long run of base64, hex or token text.
 *
 * @param mark what stands there instead
 */
export function redactKeys(text: string, mark = '[redacted]'): string {
  return text
    .replaceAll(/-----BEGIN[\s\S]*?(?:-----END[^\n]*-----|$)/g, mark)
    .replaceAll(/[A-Za-z0-9+/_-]{32,}={0,2}/g, mark);
}
