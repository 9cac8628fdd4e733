import { redactKeys } from '../../../pkg/pki/index.ts';

/** As much of what a hook prints as is kept: its end, with room for a whole key, so that none is cut in two unseen. */
export const KEPT_BYTES = 8_192;

/** What stands in the place of what may be a key. */
const REMOVED = '[removed]';

/** As much of it as people read in a reason. */
const LINES = 3;
const CHARACTERS = 300;

/**
 * The end of what a program printed, in one line that may stand in a status, a log and a terminal: without control
 * characters and whatever may be key material.
 */
export function lastWords(printed: string): string {
  const lines = withoutKeys(withoutControls(printed))
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const words = lines.slice(-LINES).join(' / ');
  return words.length <= CHARACTERS ? words : `…${words.slice(-CHARACTERS).trimStart()}`;
}

/** Lines stay lines; colours, cursor movements and what turns the direction of text go. */
function withoutControls(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for.
      .replaceAll(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g, '')
      .replaceAll(/[\r\n]+/g, '\n')
      .replaceAll(/[^\n\P{C}]+/gu, ' ')
  );
}

/** Also of a key whose beginning is missing: only the end of what a program prints is kept. */
function withoutKeys(text: string): string {
  const begun = text.replace(/^(?:(?!-----BEGIN)[\s\S])*?-----END[^\n]*/, REMOVED);
  return redactKeys(begun, REMOVED);
}
