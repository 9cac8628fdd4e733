import { type CertificateAndKey, issueLeaf, talosAdminProfile } from '../../pkg/pki/index.ts';
import { writeTalosconfig } from '../../pkg/talos/index.ts';

/** What a test says of a talosconfig. */
export interface TalosconfigOptions {
  readonly name?: string;
  readonly endpoints?: readonly string[];
  readonly validityMs?: number;
}

/** A talosconfig of one context with an administrator's certificate by this CA. */
export async function aTalosconfig(
  ca: CertificateAndKey,
  now: number,
  options: TalosconfigOptions = {},
): Promise<string> {
  const { name = 'home', endpoints = ['10.0.0.1'], validityMs } = options;
  const profile = { ...talosAdminProfile({ now }), ...(validityMs === undefined ? {} : { validityMs }) };
  const credentials = await issueLeaf(ca, profile);
  return writeTalosconfig({
    context: name,
    contexts: { [name]: { endpoints, nodes: [], trust: [ca.certificate], credentials, rest: {} } },
  });
}
