// Loaded when YAML is read or written, and not before. A module of our own, because the names of a CommonJS package
// cannot be imported lazily from a bundle.
export { parseDocument, stringify } from 'yaml';
