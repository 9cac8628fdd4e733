import type { Shape } from './shape.ts';

/** The typed documents of Talos 1.14: plain PEM text; accepted CAs are the items themselves. */
export const typedShape: Shape = {
  name: 'typed',
  certificateKey: 'cert',
  read: (_access, { scalar }) => String(scalar.value),
  write: (pem) => pem,
  item: (pem) => pem,
  itemField: (access, item, path) => ({ scalar: access.fields.asScalar(item, path), path }),
};
