import { MachineConfigError } from '../error.ts';
import { fromBase64 } from '../material.ts';
import { placeAt } from '../yaml/source.ts';
import type { Shape } from './shape.ts';

/** The old single document: base64 of PEM; accepted CAs are `- crt: …`. */
export const legacyShape: Shape = {
  name: 'legacy',
  certificateKey: 'crt',
  read: fromBase64,
  write: (pem) => Buffer.from(pem).toString('base64'),
  item: (pem) => ({ crt: Buffer.from(pem).toString('base64') }),
  itemField(access, item, path) {
    const map = access.fields.asMap(item, path);
    const scalar = access.fields.scalar(map, 'crt', `${path}.crt`);
    if (scalar !== undefined) return { scalar, path: `${path}.crt` };
    const place = placeAt(access.config, item?.range[0] ?? 0, path);
    throw new MachineConfigError('missing-value', 'an accepted CA without crt', place);
  },
};
